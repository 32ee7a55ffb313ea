//! A receiver that several clients feed with garbage at the same time.

use std::collections::BTreeSet;
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use rustix::net::sockopt::set_socket_linger;

use crate::receive::{Receiver, hello};

/// Clients at the same time.
const CLIENTS: u64 = 6;

/// Connections that each of them makes at least, however slow the machine is.
const MIN_CONNECTIONS: u64 = 200;

/// Descriptors of the receiver for connections: 16 without the token, one that is served, and one that takes the place of
/// another.
const MAX_CONNECTIONS: usize = 18;

/// Limit on memory that the receiver may take for them, beside its buffer of 256 KiB.
const MAX_GROWTH_KIB: u64 = 2048;

/// `VECTORED_GARBAGE_SECONDS=600` runs it for ten minutes.
#[test]
fn a_receiver_fed_garbage_by_several_clients_serves_the_next_one() {
    let seconds = std::env::var("VECTORED_GARBAGE_SECONDS");
    let seconds = seconds.map_or(1, |seconds| seconds.parse().unwrap());
    let receiver = Receiver::start(&["--quiet"]);
    let process = PathBuf::from(format!("/proc/{}", receiver.id()));
    // It has its buffer from here on.
    receiver.serves();
    let before = Usage::of(&process);
    let address = receiver.address;
    let until = Instant::now() + Duration::from_secs(seconds);
    let feed = |seed| thread::spawn(move || Clients::new(address, seed).feed(until));
    let threads: Vec<_> = (0..CLIENTS).map(feed).collect();
    let mut most_descriptors = 0;
    while threads.iter().any(|thread| !thread.is_finished()) {
        let now = Usage::of(&process);
        let new: Vec<_> = now.descriptors.difference(&before.descriptors).collect();
        let is_socket = |name: &&PathBuf| name.to_string_lossy().starts_with("socket:");
        assert!(new.iter().all(is_socket), "{new:?}");
        most_descriptors = most_descriptors.max(new.len());
        thread::sleep(Duration::from_millis(5));
    }
    let fed = threads.into_iter().map(|thread| thread.join().unwrap());
    let fed: Vec<Fed> = fed.collect();
    let sum = |of: fn(&Fed) -> u64| fed.iter().map(of).sum::<u64>();
    receiver.serves();
    let after = Usage::of(&process);
    println!(
        "{} connections, {} of them admitted, {} whole batches, {} bytes; {} descriptors for connections at most, {} of \
         the receiver before and {} after; VmRSS {} KiB before, {} KiB after, at most {} KiB",
        sum(|fed| fed.connections),
        sum(|fed| fed.admitted),
        sum(|fed| fed.batches),
        sum(|fed| fed.bytes),
        most_descriptors,
        before.descriptors.len(),
        after.descriptors.len(),
        before.rss_kib,
        after.rss_kib,
        after.most_rss_kib,
    );
    assert!(sum(|fed| fed.admitted) > 0 && sum(|fed| fed.batches) > 0);
    assert!(most_descriptors <= MAX_CONNECTIONS);
    assert!(after.most_rss_kib <= before.rss_kib + MAX_GROWTH_KIB);
    assert_eq!(after.written_bytes, before.written_bytes);
    receiver.stop();
}

/// What the receiver uses.
struct Usage {
    descriptors: BTreeSet<PathBuf>,
    rss_kib: u64,
    most_rss_kib: u64,
    /// Bytes that it has handed to write(2) and its like. What it answers is handed to send(2).
    written_bytes: u64,
}

impl Usage {
    fn of(process: &std::path::Path) -> Self {
        let number = |file: &str, name: &str| -> u64 {
            let text = fs::read_to_string(process.join(file)).unwrap();
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            let word = line.and_then(|rest| rest.split_whitespace().next());
            word.unwrap().parse().unwrap()
        };
        let descriptors = fs::read_dir(process.join("fd")).unwrap();
        Usage {
            // One may be closed meanwhile.
            descriptors: descriptors
                .filter_map(|entry| fs::read_link(entry.unwrap().path()).ok())
                .collect(),
            rss_kib: number("status", "VmRSS:"),
            most_rss_kib: number("status", "VmHWM:"),
            written_bytes: number("io", "wchar:"),
        }
    }
}

/// What one client after another has done.
#[derive(Default)]
struct Fed {
    connections: u64,
    admitted: u64,
    batches: u64,
    bytes: u64,
}

struct Clients {
    address: SocketAddr,
    rng: fastrand::Rng,
    /// Connections that are left open.
    open: Vec<TcpStream>,
    fed: Fed,
}

impl Clients {
    fn new(address: SocketAddr, seed: u64) -> Self {
        Clients {
            address,
            rng: fastrand::Rng::with_seed(seed),
            open: Vec::new(),
            fed: Fed::default(),
        }
    }

    fn feed(mut self, until: Instant) -> Fed {
        while Instant::now() < until || self.fed.connections < MIN_CONNECTIONS {
            match TcpStream::connect(self.address) {
                Ok(stream) => self.client(stream),
                // All local ports are those of connections that have just ended.
                Err(error) if error.kind() == ErrorKind::AddrNotAvailable => {
                    thread::sleep(Duration::from_millis(10));
                }
                Err(error) => panic!("{error}"),
            }
        }
        self.fed
    }

    fn client(&mut self, mut stream: TcpStream) {
        self.fed.connections += 1;
        stream
            .set_read_timeout(Some(Duration::from_secs(30)))
            .unwrap();
        let mut is_admitted = false;
        match self.rng.u8(..8) {
            0 => {}
            1 => self.send(&mut stream, &[], 3000),
            2 => {
                let half = self.rng.usize(..24);
                self.send(&mut stream, &hello()[..half], 0);
            }
            3 => self.send(&mut stream, b"vectrcv1", 3000),
            // The token with what comes after it, which has to wait for the answer.
            4 => self.send(&mut stream, &hello(), 3000),
            slow => is_admitted = self.is_admitted(&mut stream, slow == 5),
        }
        if is_admitted {
            self.fed.admitted += 1;
            self.batches(&mut stream);
        }
        match self.rng.u8(..4) {
            // The connection is reset.
            0 => set_socket_linger(&stream, Some(Duration::ZERO)).unwrap(),
            1 => drop(stream.shutdown(Shutdown::Write)),
            2 if !is_admitted => self.open.push(stream),
            _ => {}
        }
        if self.open.len() > 20 {
            self.open.clear();
        }
    }

    /// Sends a message and then up to `garbage` random bytes. The receiver may close the connection meanwhile.
    fn send(&mut self, stream: &mut TcpStream, message: &[u8], garbage: usize) {
        let mut all = message.to_vec();
        if garbage > 0 {
            let count = self.rng.usize(1..garbage);
            all.extend((0..count).map(|_| self.rng.u8(..)));
        }
        self.fed.bytes += all.len() as u64;
        let _ = stream.write_all(&all);
    }

    /// Sends the right token; another client may still be served.
    fn is_admitted(&mut self, stream: &mut TcpStream, is_slow: bool) -> bool {
        let hello = hello();
        let step = if is_slow { 1 } else { hello.len() };
        for part in hello.chunks(step) {
            if is_slow {
                thread::sleep(Duration::from_millis(1));
            }
            self.send(stream, part, 0);
        }
        let mut answer = [0];
        matches!(stream.read(&mut answer), Ok(1)) && answer == *b"A"
    }

    /// Whole batches, each of which is answered, and then something else.
    fn batches(&mut self, stream: &mut TcpStream) {
        let head = |bytes: u64| [&b"D"[..], &bytes.to_le_bytes()].concat();
        for _ in 0..self.rng.usize(..10) {
            let bytes = self.rng.usize(1..5000);
            self.send(stream, &[head(bytes as u64), vec![7; bytes]].concat(), 0);
            let mut answer = [0; 16];
            stream.read_exact(&mut answer).unwrap();
            assert_eq!(answer[..8], (bytes as u64).to_le_bytes());
            self.fed.batches += 1;
        }
        match self.rng.u8(..6) {
            0 => self.send(stream, &[], 3000),
            // Longer than a batch may be.
            1 => self.send(stream, &head(u64::MAX), 3000),
            2 => self.send(stream, &head((256 << 20) + 1), 3000),
            3 => self.send(stream, &head(0), 3000),
            // The end does not come.
            4 => self.send(stream, &[head(256 << 20), vec![7; 1 << 20]].concat(), 0),
            _ => {}
        }
    }
}
