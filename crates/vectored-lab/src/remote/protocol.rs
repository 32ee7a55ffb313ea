//! The protocol of a receiver: bytes in, actions out. Pure.
//!
//! A client sends [`HELLO`] and the token, and gets [`ACCEPTED`] or [`BUSY`]. Then it sends batches: the letter
//! [`BATCH`], the number of bytes as a `u64` (little-endian), and the bytes. Each is answered by the number of
//! bytes and their checksum, two `u64`s. The line is not encrypted.

use std::fmt;

use crate::remote::checksum::Checksum;
use crate::remote::token::{TOKEN_BYTES, Token};

/// The first bytes of a client: the name and the version of the protocol.
pub(crate) const HELLO: [u8; 8] = *b"vectrcv1";

/// The answer to the right token.
pub(crate) const ACCEPTED: u8 = b'A';

/// The answer to the right token while another client is served.
pub(crate) const BUSY: u8 = b'B';

/// The first byte of a batch.
pub(crate) const BATCH: u8 = b'D';

/// Bytes of the head of a batch.
pub(crate) const HEAD_BYTES: usize = 9;

/// Bytes of the answer to a batch.
pub(crate) const ANSWER_BYTES: usize = 16;

/// The first message of a client.
pub(crate) fn hello(token: &Token) -> Vec<u8> {
    [&HELLO[..], &token.bytes()].concat()
}

/// The head of a batch.
pub(crate) fn batch_head(bytes: u64) -> [u8; HEAD_BYTES] {
    let mut head = [BATCH; HEAD_BYTES];
    head[1..].copy_from_slice(&bytes.to_le_bytes());
    head
}

/// The answer to a batch.
pub(crate) fn answer(bytes: u64, checksum: u64) -> [u8; ANSWER_BYTES] {
    let mut answer = [0; ANSWER_BYTES];
    answer[..8].copy_from_slice(&bytes.to_le_bytes());
    answer[8..].copy_from_slice(&checksum.to_le_bytes());
    answer
}

/// What a client may send at most.
#[derive(Clone, Copy, Debug)]
pub struct ByteLimits {
    /// Bytes of one batch.
    pub batch_bytes: u64,
    /// Bytes of all batches.
    pub total_bytes: u64,
}

/// What the receiver does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// The client has the token. It is to be answered by [`Session::admit`].
    Admit,
    /// Send these bytes.
    Reply(Vec<u8>),
    /// Close the connection.
    Close(Refusal),
}

/// Why a connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It did not begin as a client does.
    NoClient,
    /// Another token.
    WrongToken,
    /// A client with the token came while another one was served.
    Busy,
    /// Something else than a batch.
    NoBatch,
    /// A batch of 0 bytes, or of more than a batch may have.
    BatchSize,
    /// More bytes than a client may send.
    TotalBytes,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refusal::NoClient => "it did not begin as vectored measure does",
            Refusal::WrongToken => "it sent another token",
            Refusal::Busy => "another client was being served",
            Refusal::NoBatch => "it sent something else than a batch",
            Refusal::BatchSize => "a batch was empty, or larger than a batch may be",
            Refusal::TotalBytes => "it sent more bytes than --max-bytes allows",
        })
    }
}

/// One connection.
#[derive(Debug)]
pub struct Session {
    token: Token,
    limits: ByteLimits,
    state: State,
    /// Bytes of all batches up to now.
    total_bytes: u64,
    batches: u64,
}

#[derive(Debug)]
enum State {
    /// The first message.
    Hello(Collected<{ HELLO.len() + TOKEN_BYTES }>),
    /// The token was right; nothing is read before the client is admitted.
    Waiting,
    /// The head of a batch.
    Head(Collected<HEAD_BYTES>),
    /// The bytes of a batch.
    Body {
        bytes: u64,
        left: u64,
        checksum: Checksum,
    },
    Closed,
}

/// Collects a message of `N` bytes.
#[derive(Debug)]
struct Collected<const N: usize> {
    bytes: [u8; N],
    count: usize,
}

impl<const N: usize> Collected<N> {
    fn new() -> Self {
        Collected {
            bytes: [0; N],
            count: 0,
        }
    }

    /// Takes bytes from the front of `input`; the message when it is whole.
    fn take(&mut self, input: &mut &[u8]) -> Option<[u8; N]> {
        let count = input.len().min(N - self.count);
        let (now, rest) = input.split_at(count);
        self.bytes[self.count..self.count + count].copy_from_slice(now);
        self.count += count;
        *input = rest;
        (self.count == N).then_some(self.bytes)
    }
}

impl Session {
    /// A new connection.
    pub fn new(token: Token, limits: ByteLimits) -> Self {
        Session {
            token,
            limits,
            state: State::Hello(Collected::new()),
            total_bytes: 0,
            batches: 0,
        }
    }

    /// Takes bytes of the client. After [`Action::Close`] the others are ignored.
    pub fn input(&mut self, mut input: &[u8]) -> Vec<Action> {
        let mut actions = Vec::new();
        while !input.is_empty() {
            match self.step(&mut input) {
                Ok(action) => actions.extend(action),
                Err(why) => {
                    self.state = State::Closed;
                    actions.push(Action::Close(why));
                }
            }
            if matches!(self.state, State::Closed) {
                break;
            }
        }
        actions
    }

    /// Answers a client with the token: whether there is room for it.
    pub fn admit(&mut self, has_room: bool) -> Vec<Action> {
        match has_room {
            true => {
                self.state = State::Head(Collected::new());
                vec![Action::Reply(vec![ACCEPTED])]
            }
            false => {
                self.state = State::Closed;
                vec![Action::Reply(vec![BUSY]), Action::Close(Refusal::Busy)]
            }
        }
    }

    /// Batches, and their bytes, that have arrived whole.
    pub fn received(&self) -> (u64, u64) {
        (self.batches, self.total_bytes)
    }

    /// Whether a batch has begun and not ended.
    pub fn is_in_batch(&self) -> bool {
        match &self.state {
            State::Head(head) => head.count > 0,
            State::Body { .. } => true,
            State::Hello(_) | State::Waiting | State::Closed => false,
        }
    }

    fn step(&mut self, input: &mut &[u8]) -> Result<Option<Action>, Refusal> {
        match &mut self.state {
            State::Hello(message) => {
                // A connection that is not from a client is closed at its first byte.
                let known = &HELLO[message.count.min(HELLO.len())..];
                let compared = known.len().min(input.len());
                if input[..compared] != known[..compared] {
                    return Err(Refusal::NoClient);
                }
                let Some(message) = message.take(input) else {
                    return Ok(None);
                };
                let (_, token) = message
                    .split_last_chunk::<TOKEN_BYTES>()
                    .expect("it ends with one");
                // Nothing may follow before the answer.
                if !self.token.is(token) {
                    return Err(Refusal::WrongToken);
                }
                if !input.is_empty() {
                    return Err(Refusal::NoClient);
                }
                self.state = State::Waiting;
                Ok(Some(Action::Admit))
            }
            State::Waiting => Err(Refusal::NoClient),
            State::Head(head) => {
                if head.count == 0 && input[0] != BATCH {
                    return Err(Refusal::NoBatch);
                }
                let Some(head) = head.take(input) else {
                    return Ok(None);
                };
                let (_, bytes) = head
                    .split_last_chunk::<8>()
                    .expect("it ends with the number");
                let bytes = u64::from_le_bytes(*bytes);
                if bytes == 0 || bytes > self.limits.batch_bytes {
                    return Err(Refusal::BatchSize);
                }
                if self.total_bytes.saturating_add(bytes) > self.limits.total_bytes {
                    return Err(Refusal::TotalBytes);
                }
                self.state = State::Body {
                    bytes,
                    left: bytes,
                    checksum: Checksum::new(),
                };
                Ok(None)
            }
            State::Body {
                bytes,
                left,
                checksum,
            } => {
                let count =
                    usize::try_from(*left).map_or(input.len(), |left| left.min(input.len()));
                let (now, rest) = input.split_at(count);
                checksum.add(now);
                *left -= count as u64;
                *input = rest;
                if *left > 0 {
                    return Ok(None);
                }
                let reply = answer(*bytes, checksum.value()).to_vec();
                self.total_bytes += *bytes;
                self.batches += 1;
                self.state = State::Head(Collected::new());
                Ok(Some(Action::Reply(reply)))
            }
            State::Closed => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIMITS: ByteLimits = ByteLimits {
        batch_bytes: 1000,
        total_bytes: 3000,
    };

    fn token() -> Token {
        "00112233445566778899aabbccddeeff".parse().unwrap()
    }

    /// Feeds bytes in pieces of these sizes, and admits the client.
    fn feed(session: &mut Session, mut bytes: &[u8], sizes: &[usize]) -> Vec<Action> {
        let mut all = Vec::new();
        let mut sizes = sizes.iter().copied().chain(std::iter::repeat(usize::MAX));
        while !bytes.is_empty() {
            let size = sizes.next().expect("endless").clamp(1, bytes.len());
            let (now, rest) = bytes.split_at(size);
            bytes = rest;
            for action in session.input(now) {
                match action {
                    Action::Admit => all.extend(session.admit(true)),
                    other => all.push(other),
                }
            }
        }
        all
    }

    fn batch(bytes: &[u8]) -> Vec<u8> {
        [&batch_head(bytes.len() as u64)[..], bytes].concat()
    }

    fn answer_to(bytes: &[u8]) -> Action {
        let mut sum = Checksum::new();
        sum.add(bytes);
        Action::Reply(answer(bytes.len() as u64, sum.value()).to_vec())
    }

    proptest! {
        #[test]
        fn batches_are_answered_however_the_bytes_are_cut(
            batches in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..300), 0..8),
            sizes in prop::collection::vec(1_usize..60, 0..40),
        ) {
            let mut session = Session::new(token(), LIMITS);
            let accepted = feed(&mut session, &hello(&token()), &sizes);
            prop_assert_eq!(accepted, [Action::Reply(vec![ACCEPTED])]);
            let bytes: Vec<u8> = batches.iter().flat_map(|bytes| batch(bytes)).collect();
            let answers = feed(&mut session, &bytes, &sizes);
            let expected: Vec<Action> = batches.iter().map(|bytes| answer_to(bytes)).collect();
            prop_assert_eq!(answers, expected);
            let total: usize = batches.iter().map(Vec::len).sum();
            prop_assert_eq!(session.received(), (batches.len() as u64, total as u64));
        }

        /// Whatever comes, nothing is answered without the token, and nothing after the end.
        #[test]
        fn garbage_is_never_admitted(bytes: Vec<u8>, honest in 0_usize..24, cut: prop::sample::Index) {
            let mut message = hello(&token())[..honest].to_vec();
            message.extend(&bytes);
            prop_assume!(!message.starts_with(&hello(&token())));
            let mut session = Session::new(token(), LIMITS);
            let cut = cut.index(message.len() + 1);
            let mut actions = session.input(&message[..cut]);
            actions.extend(session.input(&message[cut..]));
            let is_close = |action: &Action| {
                matches!(action, Action::Close(Refusal::NoClient | Refusal::WrongToken))
            };
            prop_assert!(actions.len() <= 1 && actions.iter().all(is_close), "{:?}", actions);
        }

        /// A client with the token that sends anything gets answers to whole batches only.
        #[test]
        fn garbage_after_the_token_ends_the_session(pieces: Vec<Vec<u8>>) {
            let mut session = Session::new(token(), LIMITS);
            feed(&mut session, &hello(&token()), &[]);
            let mut is_closed = false;
            for piece in pieces {
                for action in session.input(&piece) {
                    prop_assert!(!is_closed);
                    is_closed = matches!(action, Action::Close(_));
                }
            }
            prop_assert!(session.received().1 <= LIMITS.total_bytes);
        }
    }

    #[test]
    fn limits_end_a_session() {
        let closed = |bytes: &[u8]| {
            let mut session = Session::new(token(), LIMITS);
            feed(&mut session, &hello(&token()), &[]);
            match feed(&mut session, bytes, &[]).pop() {
                Some(Action::Close(why)) => why,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(closed(b"GET / HTTP/1.1"), Refusal::NoBatch);
        assert_eq!(closed(&batch_head(0)), Refusal::BatchSize);
        assert_eq!(closed(&batch_head(1001)), Refusal::BatchSize);
        assert_eq!(closed(&batch_head(u64::MAX)), Refusal::BatchSize);
        let full = batch(&[7; 1000]).repeat(3);
        assert_eq!(closed(&[full, batch(&[1])].concat()), Refusal::TotalBytes);
    }

    #[test]
    fn nothing_may_follow_the_token_before_the_answer() {
        let mut session = Session::new(token(), LIMITS);
        let actions = session.input(&[hello(&token()), batch(&[1])].concat());
        assert_eq!(actions, [Action::Close(Refusal::NoClient)]);
        let mut session = Session::new(token(), LIMITS);
        assert_eq!(session.input(&hello(&token())), [Action::Admit]);
        let busy = [Action::Reply(vec![BUSY]), Action::Close(Refusal::Busy)];
        assert_eq!(session.admit(false), busy);
        assert_eq!(session.input(&batch(&[1])), []);
    }
}
