//! A server of the Redis protocol (RESP 2): GET, MGET and LRANGE, pipelined.

use std::collections::HashMap;
use std::io::{self, Write as _};
use std::rc::Rc;

use bytes::{Buf as _, Bytes, BytesMut};
use tokio::io::AsyncReadExt as _;
use vectored::queue::QueuePolicy;

use crate::programs::case::{Case, Contenders, Kind, OURS, Program, Role, VERIFIED_REQUESTS};
use crate::programs::harness::Harness;
use crate::programs::payload::Pool;
use crate::programs::raw_client::RawClient;
use crate::programs::sinks::{Server, Sink, Way};

/// The RESP server.
pub const RESP: Program = Program {
    name: "resp",
    kinds: &[
        Kind {
            name: "get",
            defaults: &[
                (100, 1),
                (100, 64),
                (4 << 10, 16),
                (16 << 10, 1),
                (16 << 10, 16),
                (64 << 10, 1),
            ],
            is_single: false,
        },
        Kind {
            name: "mget",
            defaults: &[(100, 100), (1000, 100), (4 << 10, 100)],
            is_single: false,
        },
        Kind {
            name: "lrange",
            defaults: &[(100, 1000)],
            is_single: false,
        },
    ],
    open,
};

fn ways(policy: QueuePolicy) -> [(&'static str, Role, Way); 5] {
    [
        ("today", Role::Today, Way::OneBuffer),
        ("buf-writer-64k", Role::ByHand, Way::BufWriter(64 << 10)),
        ("buf-writer-256k", Role::ByHand, Way::BufWriter(256 << 10)),
        ("write-vectored", Role::ByHand, Way::WriteVectored),
        (OURS, Role::Ours, Way::Queue(policy)),
    ]
}

fn open(harness: &Harness, case: &Case) -> io::Result<Contenders> {
    let pool = Pool::new(case.bytes, case.count);
    let requests: Vec<Vec<u8>> = (0..pool.sets()).map(|set| request(case, set)).collect();
    let answer = |set: usize| answer(case, pool.set(set));
    let answer_bytes = answer(0).len();
    let expected = (0..VERIFIED_REQUESTS).flat_map(answer).collect();
    let store = Rc::new(store(case, &pool));
    Contenders::open(expected, &ways(harness.policies().tcp), |way| {
        let server = Resp {
            store: Rc::clone(&store),
        };
        way.session(harness, server, |streams| {
            RawClient::boxed(streams, requests.clone(), answer_bytes)
        })
    })
}

/// The bytes of a request: one command, or `count` commands in a row for GET.
fn request(case: &Case, set: usize) -> Vec<u8> {
    let keys = set * case.count..(set + 1) * case.count;
    let commands: Vec<Vec<String>> = match case.kind {
        "get" => keys
            .map(|index| vec!["GET".to_owned(), key(index)])
            .collect(),
        "mget" => vec![
            ["MGET".to_owned()]
                .into_iter()
                .chain(keys.map(key))
                .collect(),
        ],
        _ => vec![["LRANGE", &key(set), "0", "-1"].map(str::to_owned).to_vec()],
    };
    let mut bytes = Vec::new();
    for words in commands {
        bytes.extend_from_slice(format!("*{}\r\n", words.len()).as_bytes());
        for word in words {
            bytes.extend_from_slice(format!("${}\r\n{word}\r\n", word.len()).as_bytes());
        }
    }
    bytes
}

/// The key that redis-benchmark calls `key:__rand_int__`.
fn key(index: usize) -> String {
    format!("key:{index:012}")
}

/// The answer to a request, by the specification.
fn answer(case: &Case, values: &[Bytes]) -> Vec<u8> {
    let mut bytes = Vec::new();
    if case.kind != "get" {
        bytes.extend_from_slice(format!("*{}\r\n", values.len()).as_bytes());
    }
    for value in values {
        bytes.extend_from_slice(format!("${}\r\n", value.len()).as_bytes());
        bytes.extend_from_slice(value);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}

/// All keys. A value that is no list is a list of one.
type Store = HashMap<Vec<u8>, Vec<Bytes>>;

fn store(case: &Case, pool: &Pool) -> Store {
    let values: Vec<Vec<Bytes>> = match case.kind {
        "lrange" => (0..pool.sets()).map(|set| pool.set(set).to_vec()).collect(),
        _ => pool
            .values()
            .iter()
            .map(|value| vec![value.clone()])
            .collect(),
    };
    let keys = (0..).map(|index| key(index).into_bytes());
    std::iter::zip(keys, values).collect()
}

#[derive(Clone)]
struct Resp {
    store: Rc<Store>,
}

impl Server for Resp {
    async fn serve<S: Sink>(self, mut sink: S) -> io::Result<()> {
        let mut input = BytesMut::with_capacity(64 << 10);
        let mut words = Vec::new();
        while sink.stream().read_buf(&mut input).await? > 0 {
            // All commands that have arrived are answered before anything is sent.
            while let Some(bytes) = command(&input, &mut words)? {
                self.answer(&input, &words, &mut sink).await?;
                input.advance(bytes);
            }
            sink.flush().await?;
        }
        Ok(())
    }
}

impl Resp {
    async fn answer<S: Sink>(
        &self,
        input: &[u8],
        words: &[(usize, usize)],
        sink: &mut S,
    ) -> io::Result<()> {
        let word = |index: usize| &input[words[index].0..words[index].1];
        let get = |key: &[u8]| {
            let found = self.store.get(key);
            found.ok_or_else(|| io::Error::other("the client asked for an unknown key"))
        };
        match word(0) {
            b"GET" => bulk(sink, &get(word(1))?[0]).await,
            b"MGET" => {
                array(sink, words.len() - 1).await?;
                for index in 1..words.len() {
                    bulk(sink, &get(word(index))?[0]).await?;
                }
                Ok(())
            }
            _ => {
                let list = get(word(1))?;
                array(sink, list.len()).await?;
                for value in list {
                    bulk(sink, value).await?;
                }
                Ok(())
            }
        }
    }
}

async fn array<S: Sink>(sink: &mut S, count: usize) -> io::Result<()> {
    let mut head = [0; 24];
    sink.record(prefix(&mut head, '*', count), &Bytes::new(), b"")
        .await
}

async fn bulk<S: Sink>(sink: &mut S, value: &Bytes) -> io::Result<()> {
    let mut head = [0; 24];
    sink.record(prefix(&mut head, '$', value.len()), value, b"\r\n")
        .await
}

/// `$100\r\n`.
fn prefix(head: &mut [u8; 24], kind: char, number: usize) -> &[u8] {
    let mut rest = &mut head[..];
    write!(rest, "{kind}{number}\r\n").expect("20 digits fit");
    let left = rest.len();
    &head[..24 - left]
}

/// Finds the words of the first command, an array of bulk strings. Returns its bytes, or `None` if it has not arrived
/// as a whole.
fn command(input: &[u8], words: &mut Vec<(usize, usize)>) -> io::Result<Option<usize>> {
    words.clear();
    let mut at = 0;
    let Some(count) = number(input, &mut at, b'*')? else {
        return Ok(None);
    };
    for _ in 0..count {
        let Some(bytes) = number(input, &mut at, b'$')? else {
            return Ok(None);
        };
        if input.len() < at + bytes + 2 {
            return Ok(None);
        }
        words.push((at, at + bytes));
        at += bytes + 2;
    }
    Ok(Some(at))
}

/// Reads a line with a number, and moves `at` after it.
fn number(input: &[u8], at: &mut usize, kind: u8) -> io::Result<Option<usize>> {
    let line = &input[(*at).min(input.len())..];
    let Some(end) = line.iter().position(|&byte| byte == b'\n') else {
        return Ok(None);
    };
    let digits = match line[..end].strip_suffix(b"\r") {
        Some([first, digits @ ..]) if *first == kind => digits,
        _ => return Err(io::Error::other("the client sent no RESP array")),
    };
    let mut number = 0;
    for &digit in digits {
        number = number * 10 + usize::from(digit.wrapping_sub(b'0'));
    }
    *at += end + 1;
    Ok(Some(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_found_once_it_is_whole() {
        let case = Case {
            program: "resp",
            kind: "mget",
            bytes: 1,
            count: 3,
        };
        let bytes = request(&case, 2);
        let mut words = Vec::new();
        for cut in 0..bytes.len() {
            assert_eq!(command(&bytes[..cut], &mut words).unwrap(), None, "{cut}");
        }
        let two = [&bytes[..], b"*1\r\n$4\r\nPING\r\n"].concat();
        assert_eq!(command(&two, &mut words).unwrap(), Some(bytes.len()));
        let words: Vec<&[u8]> = words.iter().map(|&(from, to)| &two[from..to]).collect();
        let keys: [&[u8]; 4] = [
            b"MGET",
            b"key:000000000006",
            b"key:000000000007",
            b"key:000000000008",
        ];
        assert_eq!(words, keys);
        assert!(command(b"GET key\r\n", &mut Vec::new()).is_err());
    }
}
