//! The code of README and `docs/library.md`: the old code and the code that replaces it write the same bytes. `cargo
//! xtask tidy` compares the pages with the lines of this file.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, IoSlice, IoSliceMut, Read, Seek, Write};
use std::path::PathBuf;

use bytes::{BufMut, Bytes, BytesMut};
use futures_util::SinkExt;                   // feed and flush
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio_util::codec::{FramedWrite, LengthDelimitedCodec};
use vectored::buffered::{GatherWriter, ScatterReader};
use vectored::cost::TargetKind;
use vectored::queue::{QueuePolicy, SegmentQueue};
use vectored_codec::{FramedQueue, LengthDelimitedEncoder};

/// What `write` leaves in an empty file.
fn written(write: impl FnOnce(File) -> io::Result<()>) -> Vec<u8> {
    let path = path();
    let mut file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
    std::fs::remove_file(path).unwrap();
    write(file.try_clone().unwrap()).unwrap();
    let mut bytes = Vec::new();
    file.rewind().unwrap();
    file.read_to_end(&mut bytes).unwrap();
    bytes
}

fn path() -> PathBuf {
    static COUNT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    let number = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    std::env::temp_dir().join(format!("vectored-before-and-after-{}-{number}", std::process::id()))
}

#[test]
fn a_list_takes_the_place_of_several_writes() {
    let (header, body) = (b"key: value\n\n".to_vec(), vec![b'.'; 100_000]);
    let before = written(|mut file| {
        file.write_all(&header)?;
        file.write_all(&body)?;
        file.write_all(b"\n")?;
        Ok(())
    });
    let after = written(|file| {
        use vectored::Gather;
        let mut gather = Gather::new();          // once: it owns its working memory
        gather.write_all(&file, &[IoSlice::new(&header), IoSlice::new(&body), IoSlice::new(b"\n")])?;
        Ok(())
    });
    assert_eq!(before.len(), 100_013);
    assert_eq!(before, after);
}

/// The program of README.
#[allow(dead_code)]
mod readme {
    use std::{fs::File, io::{self, IoSlice}};

    fn main() -> io::Result<()> {
        let file = File::create("answer.txt")?;
        let mut gather = vectored::Gather::new(); // owns its working memory: keep it
        let body = vec![b'.'; 100_000];
        gather.write_all(&file, &[IoSlice::new(b"key: value\n\n"), IoSlice::new(&body), IoSlice::new(b"\n")])?;
        Ok(())
    }
}

#[test]
fn a_gather_writer_takes_the_place_of_a_buf_writer() {
    let fill = |out: &mut dyn Write| -> io::Result<()> {
        out.write_all(b"short")?;
        out.write_all(&[7; 20_000])?;
        out.flush()
    };
    let before = written(|file| {
        let mut out = BufWriter::new(file);
        fill(&mut out)
    });
    let after = written(|file| {
        let mut out = GatherWriter::new(file);   // a file, a pipe or a stream socket
        fill(&mut out)
    });
    assert_eq!(before.len(), 20_005);
    assert_eq!(before, after);
}

#[test]
fn records_are_joined_in_a_log() {
    let records = [&b"one "[..], b"two ", b"three\n"];
    let found = written(|log| {
        let mut queue = SegmentQueue::with_policy(QueuePolicy::for_target(TargetKind::File));
        for record in records {
            queue.put_slice(record);
            queue.end_record();      // calls end at ends of records
        }
        queue.write_to(&log)?;       // once a batch; after an error the queue holds exactly what is missing
        Ok(())
    });
    assert_eq!(found, b"one two three\n");
}

#[allow(dead_code, reason = "the program of `docs/writev-or-copy.md`, of which a test calls one function")]
#[path = "../../../vectored/examples/tcp_message.rs"]
mod tcp_message;

#[test]
fn a_header_and_its_body_are_one_message() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let peer = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    tcp_message::send(&mut vectored::Gather::new(), &peer, b"header", b"body").unwrap();
    drop(peer);
    let mut arrived = Vec::new();
    listener.accept().unwrap().0.read_to_end(&mut arrived).unwrap();
    assert_eq!(arrived, b"headerbody");
}

#[test]
fn a_long_message_goes_on_when_the_socket_is_writable() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let peer = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    peer.set_nonblocking(true).unwrap();
    let body: Vec<u8> = (0..32 << 20).map(|at| (at / 7) as u8).collect();
    let message = [io::IoSlice::new(b"header"), io::IoSlice::new(&body)];
    let (mut gather, mut sent) = (vectored::Gather::new(), vectored::SegmentCursor::new());
    let mut go_on = || tcp_message::go_on(&mut gather, &peer, &message, &mut sent).unwrap();
    assert!(!go_on(), "no socket takes 32 MiB that nobody reads");
    let mut other = listener.accept().unwrap().0;
    let reader = std::thread::spawn(move || {
        let mut arrived = vec![0; 6 + (32 << 20)];
        other.read_exact(&mut arrived).map(|()| arrived)
    });
    while !go_on() {
        std::thread::yield_now();
    }
    let arrived = reader.join().unwrap().unwrap();
    assert!(arrived.starts_with(b"header") && arrived[6..] == body);
}

mod connection {
    use super::*;

    pub struct Before {
        pub socket: UnixStream,
        output: BytesMut,
    }

    impl Before {
        pub fn new(socket: UnixStream) -> Self {
            Before {
                socket,
                output: BytesMut::with_capacity(4096),
            }
        }

        pub async fn answer(&mut self, values: &[Bytes]) -> io::Result<()> {
            for value in values {
                self.put_value(value);
                if self.output.len() >= 1 << 20 {
                    self.flush().await?;
                }
            }
            self.flush().await
        }

        async fn flush(&mut self) -> io::Result<()> {
            self.socket.write_all(&self.output).await?;
            self.output.clear();
            Ok(())
        }

        fn put_value(&mut self, value: &Bytes) {
            self.put_number(b'$', value.len());
            self.output.put_slice(value);
            self.output.put_u8(b'\n');
        }

        fn put_number(&mut self, mark: u8, number: usize) {
            self.output.put_slice(format!("{}{number}\n", char::from(mark)).as_bytes());
        }
    }

    pub struct After {
        pub socket: UnixStream,
        output: SegmentQueue,
    }

    impl After {
        pub fn new(socket: UnixStream) -> Self {
            After {
                socket,
                output: SegmentQueue::with_policy(QueuePolicy::for_target(TargetKind::Tcp)),
            }
        }

        pub async fn answer(&mut self, values: &[Bytes]) -> io::Result<()> {
            for value in values {
                self.put_value(value);
                if self.output.is_full() {
                    self.flush().await?;
                }
            }
            self.flush().await
        }

        async fn flush(&mut self) -> io::Result<()> {
            self.output.drain_to(&mut self.socket).await
        }

        fn put_value(&mut self, value: &Bytes) {
            self.put_number(b'$', value.len());
            self.output.push_shared(value);
            self.output.put_u8(b'\n');
        }

        fn put_number(&mut self, mark: u8, number: usize) {
            self.output.put_slice(format!("{}{number}\n", char::from(mark)).as_bytes());
        }
    }
}

#[tokio::test]
async fn a_queue_takes_the_place_of_a_bytes_mut() {
    use tokio::io::AsyncReadExt;
    let values: Vec<Bytes> = (0..30).map(|n| Bytes::from(vec![n; 70_000])).collect();
    let mut found = Vec::new();
    for with_queue in [false, true] {
        let (socket, mut peer) = UnixStream::pair().unwrap();
        let mut bytes = Vec::new();
        let answer = async {
            if with_queue {
                connection::After::new(socket).answer(&values).await
            } else {
                connection::Before::new(socket).answer(&values).await
            }
        };
        let (sent, received) = tokio::join!(answer, peer.read_to_end(&mut bytes));
        sent.unwrap();
        received.unwrap();
        found.push(bytes);
    }
    assert_eq!(found[0].len(), 30 * (7 + 70_000 + 1));
    assert_eq!(found[0], found[1]);
}

#[tokio::test]
async fn a_framed_queue_takes_the_place_of_a_framed_write() {
    let bodies = || [1, 5_000, 70].map(|length| Bytes::from(vec![b'x'; length]));
    let (mut before, mut after) = (Vec::new(), Vec::new());
    {
        let socket = &mut before;
        let mut frames = FramedWrite::new(socket, LengthDelimitedCodec::new());
        for body in bodies() {
            frames.send(body).await.unwrap();
        }
    }
    {
        let socket = &mut after;
        let mut frames = FramedQueue::new(socket, LengthDelimitedEncoder::new());
        for body in bodies() {
            frames.send(body).await.unwrap();
        }
    }
    assert_eq!(before.len(), 5_071 + 3 * 4);
    assert_eq!(before, after);
}

#[allow(dead_code, reason = "the program of the page, of which a test calls one function")]
#[path = "../../examples/echo_frames.rs"]
mod echo_frames;

#[tokio::test]
async fn a_server_answers_each_frame_by_a_frame() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let served = tokio::spawn(echo_frames::serve(listener.accept().await.unwrap().0));
    let sent = [&b"\0\0\0\x04body\0\0\0\0\0\0\x20\0"[..], &[b'x'; 0x2000]].concat();
    client.write_all(&sent).await.unwrap();
    client.shutdown().await.unwrap();
    let mut answered = Vec::new();
    client.read_to_end(&mut answered).await.unwrap();
    assert!(answered == sent);
    served.await.unwrap().unwrap();
}

mod messages {
    use std::io;

    use bytes::{BufMut, Bytes};
    use vectored::SegmentQueue;
    use vectored_codec::QueueEncoder;

    pub struct Messages;                     // a kind and a length of four bytes each, then the body

    impl QueueEncoder<(u32, Bytes)> for Messages {
        type Error = io::Error;

        fn encode(&mut self, (kind, body): (u32, Bytes), queue: &mut SegmentQueue) -> io::Result<()> {
            queue.put_u32(kind);
            queue.put_u32(body.len() as u32);
            queue.push(body);                // a long body is referenced, a short one copied
            Ok(())
        }
    }
}

#[tokio::test]
async fn an_encoder_puts_a_header_before_a_body() {
    let mut sent = Vec::new();
    {
        let mut answers = FramedQueue::new(&mut sent, messages::Messages);
        answers.send((7, Bytes::from_static(b"body"))).await.unwrap();
    }
    assert_eq!(sent, b"\0\0\0\x07\0\0\0\x04body");
}

#[test]
fn a_scatter_reader_takes_the_place_of_a_buf_reader() {
    let record = |number: u8| [[number; 4].to_vec(), vec![number; 50_000]].concat();
    let file = |path: &PathBuf| {
        std::fs::write(path, [record(1), record(2)].concat()).unwrap();
        File::open(path).unwrap()
    };
    let path = path();
    let before = (|| {
        let source = file(&path);
        let (mut payload, mut header) = (vec![0; 50_000], [0; 4]);
        let mut reader = BufReader::new(source);
        reader.read_exact(&mut header)?;
        reader.read_exact(&mut payload)?;
        reader.read_exact(&mut header)?;         // of the next record
        io::Result::Ok((payload, header))
    })();
    let after = (|| {
        let source = file(&path);
        let (mut payload, mut header) = (vec![0; 50_000], [0; 4]);
        let mut reader = ScatterReader::new(source);
        reader.read_exact(&mut header)?;
        reader.read_exact_vectored(&mut [IoSliceMut::new(&mut payload), IoSliceMut::new(&mut header)])?;
        io::Result::Ok((payload, header))
    })();
    std::fs::remove_file(path).unwrap();
    let expected = (vec![1; 50_000], [2; 4]);
    assert_eq!(before.unwrap(), expected);
    assert_eq!(after.unwrap(), expected);
}
