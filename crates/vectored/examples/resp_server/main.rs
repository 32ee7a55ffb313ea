//! A server of a part of Redis's protocol. Without an argument, the server checks itself. With an argument, the server
//! serves `redis-cli`: `cargo run -p vectored --features bytes,tokio --example resp_server -- 127.0.0.1:6379`.

mod check;
mod request;

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use vectored::SegmentQueue;
use vectored::cost::TargetKind;
use vectored::queue::QueuePolicy;

use crate::request::read_request;

/// The lists by their keys. A string is a list of one value.
type Data = HashMap<Bytes, Vec<Bytes>>;

async fn serve(mut socket: TcpStream, data: Arc<Mutex<Data>>) -> io::Result<()> {
    let (reader, mut writer) = socket.split();
    let mut reader = BufReader::new(reader);
    let mut queue = SegmentQueue::with_policy(QueuePolicy::for_target(TargetKind::Tcp));
    while !reader.fill_buf().await?.is_empty() {
        let words = read_request(&mut reader).await?;
        answer(&mut queue, &words, &mut data.lock().unwrap())?;
        // One call sends the answers to all requests that have arrived.
        if reader.buffer().is_empty() || queue.is_full() {
            queue.drain_to(&mut writer).await?;
        }
    }
    Ok(())
}

fn answer(queue: &mut SegmentQueue, words: &[Bytes], data: &mut Data) -> io::Result<()> {
    let [name, arguments @ ..] = words else {
        return Ok(());
    };
    let first = |key| Some(&data.get(key)?[0]);
    match (&name.to_ascii_uppercase()[..], arguments) {
        (b"PING", []) => queue.write_all(b"+PONG\r\n"),
        (b"GET", [key]) => put_value(queue, first(key)),
        (b"MGET", keys) => {
            write!(queue, "*{}\r\n", keys.len())?;
            keys.iter().try_for_each(|key| put_value(queue, first(key)))
        }
        (b"LRANGE", [key, from, to]) => {
            let list = data.get(key).map_or(&[][..], Vec::as_slice);
            let end = index(to, list).saturating_add(1).min(list.len());
            let list = list.get(index(from, list)..end).unwrap_or_default();
            write!(queue, "*{}\r\n", list.len())?;
            list.iter().try_for_each(|one| put_value(queue, Some(one)))
        }
        (b"SET", [key, value]) => {
            data.insert(key.clone(), vec![value.clone()]);
            queue.write_all(b"+OK\r\n")
        }
        (b"RPUSH", [key, value]) => {
            let list = data.entry(key.clone()).or_default();
            list.push(value.clone());
            write!(queue, ":{}\r\n", list.len())
        }
        _ => queue.write_all(b"-ERR unknown command or arguments\r\n"),
    }
}

/// Returns an index of `LRANGE`. A word that is not an unsigned number, such as -1, is the end of the list.
fn index(word: &[u8], list: &[Bytes]) -> usize {
    let number = std::str::from_utf8(word)
        .ok()
        .and_then(|digits| digits.parse().ok());
    number.unwrap_or(list.len())
}

/// `push_shared` copies a short value. For a long value, the queue keeps a clone, which shares the memory of the value.
fn put_value(queue: &mut SegmentQueue, value: Option<&Bytes>) -> io::Result<()> {
    let Some(value) = value else {
        return queue.write_all(b"$-1\r\n");
    };
    write!(queue, "${}\r\n", value.len())?;
    queue.push_shared(value);
    queue.write_all(b"\r\n")
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> io::Result<()> {
    let Some(address) = std::env::args().nth(1) else {
        return check::run().await;
    };
    let listener = TcpListener::bind(address).await?;
    let data = Arc::default();
    loop {
        let (socket, _) = listener.accept().await?;
        let connection = serve(socket, Arc::clone(&data));
        tokio::spawn(async { connection.await.inspect_err(|error| eprintln!("{error}")) });
    }
}
