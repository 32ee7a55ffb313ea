//! The limits of a receiver, with short times.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver as Channel, channel};
use std::time::Duration;

use vectored_lab::measure::{
    Contender, DescriptorSampler, MeasureError, MonotonicClock, Mover, Watch, movers, run_rounds,
};
use vectored_lab::model::{CellSpec, Experiment, Target, Technique, Workload};
use vectored_lab::remote::{End, ReceiveLimits, Receiver, ReceiverEvent, Refusal, Token};

const TOKEN: &str = "00112233445566778899aabbccddeeff";
const LONG: Duration = Duration::from_secs(3600);
const SHORT: Duration = Duration::from_millis(20);

fn limits() -> ReceiveLimits {
    ReceiveLimits {
        handshake: LONG,
        stall: LONG,
        ..ReceiveLimits::new(1000, LONG)
    }
}

/// Runs a receiver with these limits while `client` uses a connection to it; returns what happened.
fn events(
    limits: ReceiveLimits,
    client: impl FnOnce(TcpStream, &Channel<ReceiverEvent>),
) -> Vec<ReceiverEvent> {
    let token: Token = TOKEN.parse().unwrap();
    let receiver = Receiver::listen("127.0.0.1:0".parse().unwrap(), token, limits).unwrap();
    let address = receiver.address().unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let (sender, happened) = channel();
    let thread = {
        let stop = Arc::clone(&stop);
        std::thread::spawn(move || {
            let mut all = Vec::new();
            let mut note = |_, event| {
                all.push(event);
                let _ = sender.send(event);
            };
            receiver.serve(&stop, &mut note).unwrap();
            all
        })
    };
    client(TcpStream::connect(address).unwrap(), &happened);
    stop.store(true, Ordering::Relaxed);
    thread.join().unwrap()
}

fn hello() -> Vec<u8> {
    let bytes = u128::from_str_radix(TOKEN, 16).unwrap().to_be_bytes();
    [&b"vectrcv1"[..], &bytes].concat()
}

fn admitted(mut stream: TcpStream) -> TcpStream {
    stream.write_all(&hello()).unwrap();
    let mut answer = [0];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(answer, *b"A");
    stream
}

fn batch(bytes: u64) -> Vec<u8> {
    [&b"D"[..], &bytes.to_le_bytes()].concat()
}

fn ended(why: End, batches: u64, bytes: u64) -> ReceiverEvent {
    ReceiverEvent::Ended {
        why,
        batches,
        bytes,
    }
}

#[test]
fn whoever_is_silent_is_disconnected() {
    let limits = ReceiveLimits {
        handshake: SHORT,
        ..limits()
    };
    let events = events(limits, |mut stream, _| {
        stream.write_all(&hello()[..23]).unwrap();
        assert_eq!(stream.read(&mut [0]).unwrap(), 0);
    });
    assert_eq!(events, [ReceiverEvent::Refused(End::HandshakeTime)]);
}

#[test]
fn a_batch_that_stalls_ends_the_client() {
    let limits = ReceiveLimits {
        stall: SHORT,
        ..limits()
    };
    let events = events(limits, |stream, _| {
        let mut stream = admitted(stream);
        stream.write_all(&[batch(2), vec![1]].concat()).unwrap();
        assert_eq!(stream.read(&mut [0]).unwrap(), 0);
    });
    assert_eq!(events, [ReceiverEvent::Accepted, ended(End::Stalled, 0, 0)]);
}

#[test]
fn a_client_has_limited_time_also_between_batches() {
    let limits = ReceiveLimits {
        session: SHORT,
        ..limits()
    };
    let events = events(limits, |stream, _| {
        assert_eq!(admitted(stream).read(&mut [0]).unwrap(), 0);
    });
    assert_eq!(
        events,
        [ReceiverEvent::Accepted, ended(End::SessionTime, 0, 0)]
    );
}

#[test]
fn a_client_has_limited_bytes() {
    let events = events(limits(), |stream, _| {
        let mut stream = admitted(stream);
        let full = [batch(1000), vec![7; 1000], batch(1)].concat();
        stream.write_all(&full).unwrap();
        let mut answer = [0; 16];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(answer[..8], 1000_u64.to_le_bytes());
        assert_eq!(stream.read(&mut [0]).unwrap(), 0);
    });
    let end = End::Refused(Refusal::TotalBytes);
    assert_eq!(events, [ReceiverEvent::Accepted, ended(end, 1, 1000)]);
}

#[test]
fn a_client_that_never_reads_is_disconnected() {
    let limits = ReceiveLimits::new(u64::MAX, LONG);
    let events = events(limits, |stream, happened| {
        let mut stream = admitted(stream);
        assert_eq!(happened.recv().unwrap(), ReceiverEvent::Accepted);
        let many = [batch(1), vec![7]].concat().repeat(100_000);
        // Until the answers fill all buffers and the receiver closes the connection.
        while stream.write_all(&many).is_ok() {}
        assert!(matches!(
            happened.recv().unwrap(),
            ReceiverEvent::Ended {
                why: End::NotReading,
                ..
            }
        ));
    });
    assert_eq!(events.len(), 2);
}

#[test]
fn a_receiver_that_is_stopped_ends_its_client() {
    let mut kept = None;
    let events = events(limits(), |stream, happened| {
        kept = Some(admitted(stream));
        assert_eq!(happened.recv().unwrap(), ReceiverEvent::Accepted);
    });
    assert_eq!(events, [ReceiverEvent::Accepted, ended(End::Stopped, 0, 0)]);
    assert_eq!(kept.unwrap().read(&mut [0]).unwrap(), 0);
}

/// Changes the last byte of each list.
struct LastByteWrong;

impl Mover for LastByteWrong {
    fn prepare(&mut self, _segments: &[&[u8]], _start_bytes: usize) {}

    fn call(&mut self, fd: BorrowedFd<'_>, segments: &[&[u8]]) -> io::Result<()> {
        let mut bytes = segments.concat();
        *bytes.last_mut().unwrap() ^= 1;
        let written = rustix::io::write(fd, &bytes)?;
        assert_eq!(written, bytes.len());
        Ok(())
    }
}

#[test]
fn a_wrong_byte_on_the_way_to_a_receiver_is_found() {
    let mut outcomes = Vec::new();
    let limits = ReceiveLimits::new(u64::MAX, LONG);
    events(limits, |stream, _| {
        let address = stream.peer_addr().unwrap();
        drop(stream);
        for is_wrong in [false, true] {
            let spec = CellSpec {
                path: Some(format!("tcp://{address}").into()),
                ..CellSpec::write(Target::Remote, Workload::uniform(3, 100))
            };
            let experiment = Experiment {
                cells: vec![spec],
                rivals: vec![Technique::Writev],
                unranked: Vec::new(),
                refine: false,
                budget_ns: u64::MAX,
                seed: 3,
            };
            let clock = MonotonicClock;
            let mut sampler = DescriptorSampler::new(&clock, &std::env::temp_dir(), 3)
                .with_token(Some(TOKEN.parse().unwrap()))
                .with_movers(move |contender, model| match contender {
                    Contender::Technique(_) if is_wrong => Box::new(LastByteWrong),
                    other => movers(other, model),
                });
            let watch = Watch {
                progress: &mut |_| {},
                stop: &AtomicBool::new(false),
            };
            outcomes.push(run_rounds(&experiment, 4, &mut sampler, &clock, watch));
        }
    });
    assert!(outcomes.remove(0).unwrap().cells[0].proof_calls > 0);
    let error = outcomes.remove(0).unwrap_err().error;
    assert!(matches!(error, MeasureError::WrongBytes { .. }), "{error}");
    assert!(
        error
            .to_string()
            .contains("the checksum of 300 received bytes"),
        "{error}"
    );
}
