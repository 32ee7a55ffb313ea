//! The body of the fuzz target of the receiver's protocol.

use std::ops::Range;

use vectored_lab::remote::{Action, ByteLimits, Refusal, Session, Token};

use crate::fuzz::input::Input;
use crate::queue::Choose;

const TOKEN: &str = "00112233445566778899aabbccddeeff";

/// The first bytes of a client: see `docs/network.md`.
const HELLO: [u8; 24] =
    *b"vectrcv1\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff";

const NAME_BYTES: usize = 8;
const HEAD_BYTES: usize = 9;

const LIMITS: ByteLimits = ByteLimits {
    batch_bytes: 1 << 10,
    total_bytes: 1 << 12,
};

/// Tests the protocol of `vectored receive` with any client: it begins as one with the token, as one with a wrong one, or
/// in any way, and then sends whole batches, batches of another length than announced, or anything. A model of the
/// protocol, which sees all bytes at once, says what the receiver has to do.
///
/// # Panics
///
/// If the receiver does something else, or if what it does depends on how the bytes are cut.
pub fn receiver(data: &[u8]) {
    let client = Client::of(data);
    let run = Run::of(&client.sent, &client.pieces, client.has_room);
    run.check(&Expected::of(&client));
    // One piece, or two if nothing may come with the token.
    let all = client.sent.len();
    let end = match client.follows() {
        true => all,
        false => all.min(HELLO.len()),
    };
    let at_once = [0..end, end..all];
    assert_eq!(Run::of(&client.sent, &at_once, client.has_room), run);
}

/// The bytes of a client, and the pieces in which they arrive.
struct Client {
    sent: Vec<u8>,
    pieces: Vec<Range<usize>>,
    /// No other client is served.
    has_room: bool,
}

impl Client {
    fn of(data: &[u8]) -> Self {
        let mut input = Input(data.iter());
        let begins = input.byte();
        // A client that waits for the answer to its token; another one sends the rest with it.
        let waits = begins & 4 == 0;
        let sizes = [1 + input.byte(), 1 + input.byte()];
        let sent = bytes_of_client(begins & 3, &mut input);
        Client {
            pieces: pieces(sent.len(), sizes, waits),
            sent,
            has_room: begins & 8 == 0,
        }
    }

    /// Whether the piece with the end of the token has more bytes.
    fn follows(&self) -> bool {
        let mut ends = self.pieces.iter().map(|piece| piece.end);
        ends.find(|end| *end >= HELLO.len())
            .is_some_and(|end| end > HELLO.len())
    }
}

/// The token or what stands in its place, and then what each byte of the input decides on.
fn bytes_of_client(begins: usize, input: &mut Input<'_>) -> Vec<u8> {
    let mut sent = match begins {
        0 => Vec::new(),
        1 => {
            let mut hello = HELLO.to_vec();
            let at = input.byte() % HELLO.len();
            hello[at] ^= 1 << (input.byte() % 8);
            hello
        }
        _ => HELLO.to_vec(),
    };
    // As many as the limit on all bytes allows, and some more.
    while input.0.len() > 0 && sent.len() < 3 * LIMITS.total_bytes as usize {
        let kind = input.byte();
        match kind % 4 {
            0 => sent.extend(input.0.by_ref().take(kind / 4)),
            1 => {
                let bytes = input.below(LIMITS.batch_bytes as usize + 2);
                batch(&mut sent, bytes as u64, bytes, kind);
            }
            2 => {
                let announced = input.below(LIMITS.batch_bytes as usize + 2);
                batch(&mut sent, announced as u64, input.byte() * 5, kind);
            }
            _ => {
                let announced = u64::from_le_bytes(std::array::from_fn(|_| input.byte() as u8));
                batch(&mut sent, announced, 0, kind);
            }
        }
    }
    sent
}

fn batch(sent: &mut Vec<u8>, announced: u64, bytes: usize, first: usize) {
    sent.push(b'D');
    sent.extend(announced.to_le_bytes());
    sent.extend((first..first + bytes).map(|byte| byte as u8));
}

/// Pieces whose sizes alternate; a client that waits sends nothing more with the last byte of the token.
fn pieces(all: usize, sizes: [usize; 2], waits: bool) -> Vec<Range<usize>> {
    let (mut pieces, mut begin) = (Vec::new(), 0);
    for size in sizes.into_iter().cycle() {
        if begin == all {
            break;
        }
        let mut end = all.min(begin.saturating_add(size));
        if waits && begin < HELLO.len() {
            end = end.min(HELLO.len());
        }
        pieces.push(begin..end);
        begin = end;
    }
    pieces
}

/// The actions and the final state of a session.
#[derive(Debug, PartialEq)]
struct Run {
    actions: Vec<Action>,
    received: (u64, u64),
    is_in_batch: bool,
}

impl Run {
    fn of(sent: &[u8], pieces: &[Range<usize>], has_room: bool) -> Self {
        let token: Token = TOKEN.parse().expect("32 digits");
        let mut session = Session::new(token, LIMITS);
        let mut actions = Vec::new();
        for piece in pieces {
            for action in session.input(&sent[piece.clone()]) {
                match action {
                    Action::Admit => actions.extend(session.admit(has_room)),
                    other => actions.push(other),
                }
            }
        }
        Run {
            actions,
            received: session.received(),
            is_in_batch: session.is_in_batch(),
        }
    }

    fn check(&self, expected: &Expected) {
        let mut replies = Vec::new();
        let mut closed = None;
        for action in &self.actions {
            assert_eq!(closed, None, "{action:?} after the end");
            match action {
                Action::Close(why) => closed = Some(*why),
                Action::Reply(reply) => replies.push(&reply[..]),
                Action::Admit => unreachable!("answered in `of`"),
            }
        }
        assert_eq!(closed, expected.closed);
        let answers = match expected.answer {
            Some(answer) => {
                let (first, rest) = replies.split_first().expect("the token is answered");
                assert_eq!(*first, [answer]);
                rest
            }
            None => &replies,
        };
        // The checksums are compared with those of other pieces.
        let counts: Vec<u64> = answers
            .iter()
            .map(|answer| {
                let [count, _] = answer.as_chunks::<8>().0 else {
                    panic!("{answer:?} is no answer to a batch")
                };
                u64::from_le_bytes(*count)
            })
            .collect();
        assert_eq!(counts, expected.batches);
        let total = counts.iter().sum();
        assert_eq!(self.received, (counts.len() as u64, total));
        assert!(total <= LIMITS.total_bytes);
        assert_eq!(self.is_in_batch, expected.is_in_batch);
    }
}

/// What the receiver has to do.
struct Expected {
    /// The answer to the token.
    answer: Option<u8>,
    /// The bytes of each batch that is answered.
    batches: Vec<u64>,
    closed: Option<Refusal>,
    is_in_batch: bool,
}

impl Expected {
    fn of(client: &Client) -> Self {
        let sent = &client.sent[..];
        let mut expected = Expected {
            answer: None,
            batches: Vec::new(),
            closed: None,
            is_in_batch: false,
        };
        let name = &sent[..sent.len().min(NAME_BYTES)];
        if !HELLO.starts_with(name) {
            expected.closed = Some(Refusal::NoClient);
            return expected;
        }
        let Some((hello, mut rest)) = sent.split_at_checked(HELLO.len()) else {
            return expected;
        };
        expected.closed = match (hello == HELLO, client.follows(), client.has_room) {
            (false, ..) => Some(Refusal::WrongToken),
            (true, true, _) => Some(Refusal::NoClient),
            (true, false, false) => Some(Refusal::Busy),
            (true, false, true) => None,
        };
        expected.answer = match expected.closed {
            None => Some(b'A'),
            Some(Refusal::Busy) => Some(b'B'),
            Some(_) => None,
        };
        while expected.closed.is_none() && !rest.is_empty() {
            let Some((head, body)) = rest.split_at_checked(HEAD_BYTES) else {
                match rest[0] {
                    b'D' => expected.is_in_batch = true,
                    _ => expected.closed = Some(Refusal::NoBatch),
                }
                break;
            };
            let bytes = u64::from_le_bytes(head[1..].try_into().expect("eight bytes"));
            let before: u64 = expected.batches.iter().sum();
            expected.closed = match head[0] {
                b'D' if bytes == 0 || bytes > LIMITS.batch_bytes => Some(Refusal::BatchSize),
                b'D' if before + bytes > LIMITS.total_bytes => Some(Refusal::TotalBytes),
                b'D' => None,
                _ => Some(Refusal::NoBatch),
            };
            if expected.closed.is_some() {
                break;
            }
            let Some((_, next)) = body.split_at_checked(bytes as usize) else {
                expected.is_in_batch = true;
                break;
            };
            expected.batches.push(bytes);
            rest = next;
        }
        expected
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn the_seeds_reach_every_end_and_several_batches() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/receiver");
        let seeds = fs::read_dir(folder).unwrap().map(|entry| {
            let data = fs::read(entry.unwrap().path()).unwrap();
            Expected::of(&Client::of(&data))
        });
        let seeds: Vec<Expected> = seeds.collect();
        for why in [
            Refusal::NoClient,
            Refusal::WrongToken,
            Refusal::Busy,
            Refusal::NoBatch,
            Refusal::BatchSize,
            Refusal::TotalBytes,
        ] {
            assert!(seeds.iter().any(|seed| seed.closed == Some(why)), "{why:?}");
        }
        assert!(
            seeds
                .iter()
                .any(|seed| seed.closed.is_none() && seed.batches.len() > 3)
        );
        assert!(
            seeds
                .iter()
                .any(|seed| seed.is_in_batch && !seed.batches.is_empty())
        );
    }
}
