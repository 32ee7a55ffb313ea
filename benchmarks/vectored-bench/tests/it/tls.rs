//! A queue over TLS: every byte arrives, and messages are joined into few records.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use fastrand::Rng;
use tokio::io::{
    AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, ReadBuf, duplex,
};
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector, client, server};
use vectored::SegmentQueue;
use vectored::queue::QueuePolicy;
use vectored_conformance::queue::put;
use vectored_conformance::queue::soak::{polled, runtime};
use vectored_conformance::queue::strict::{RECORD_BYTES, Strict};

/// Room for everything that a test sends, so that the writer is always ready.
const ROOMY: usize = 64 << 20;

/// A writer that counts the records of TLS that are written to `inner`.
struct CountedRecords<W> {
    inner: W,
    count: Arc<AtomicUsize>,
    /// The bytes received so far of the header of the record: a type, a version of 2 bytes, and a length of 2 bytes (RFC 8446, 5.1).
    head: Vec<u8>,
    /// The bytes of the record that have not come yet.
    left: usize,
}

impl<W> CountedRecords<W> {
    fn count(&mut self, mut bytes: &[u8]) {
        while let Some((&first, rest)) = bytes.split_first() {
            if self.left > 0 {
                let here = self.left.min(bytes.len());
                self.left -= here;
                bytes = &bytes[here..];
                continue;
            }
            self.head.push(first);
            bytes = rest;
            if let [_, _, _, high, low] = self.head[..] {
                self.left = usize::from(u16::from_be_bytes([high, low]));
                self.head.clear();
                self.count.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

impl<W: AsyncWrite + Unpin> AsyncWrite for CountedRecords<W> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.inner).poll_write(cx, bytes))?;
        self.count(&bytes[..written]);
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

impl<W: AsyncRead + Unpin> AsyncRead for CountedRecords<W> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buf)
    }
}

/// The two ends of a TLS connection through a buffer of `capacity` bytes.
struct Connection {
    writer: client::TlsStream<CountedRecords<DuplexStream>>,
    reader: server::TlsStream<DuplexStream>,
    /// The records that the writer has sent.
    records: Arc<AtomicUsize>,
}

async fn connect(capacity: usize) -> Connection {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let certificate = made.cert.der().clone();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).unwrap();
    let accepts = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let connects = ClientConfig::builder()
        .with_root_certificates(roots)
        .with_no_client_auth();

    let (inner, there) = duplex(capacity);
    let records = Arc::new(AtomicUsize::new(0));
    let here = CountedRecords {
        inner,
        count: Arc::clone(&records),
        head: Vec::new(),
        left: 0,
    };
    let name = ServerName::try_from("localhost").unwrap();
    let accepted = tokio::spawn(
        TlsAcceptor::from(Arc::new(accepts))
            .accept(there)
            .into_future(),
    );
    let writer = TlsConnector::from(Arc::new(connects)).connect(name, here);
    let writer = writer.await.unwrap();
    Connection {
        writer,
        reader: accepted.await.unwrap().unwrap(),
        records,
    }
}

struct Sent {
    bytes: Vec<u8>,
    /// How often a write emptied the queue.
    emptied: usize,
}

/// Puts messages of 1 byte to 100 KiB into a queue, in all ways, and writes it in between: to its end, by one call, or
/// by an operation that is dropped after a few polls. Messages may be ended as records, some late.
async fn send(
    rng: &mut Rng,
    writer: &mut (impl AsyncWrite + Unpin),
    has_records: bool,
) -> io::Result<Sent> {
    let mut queue = SegmentQueue::with_policy(QueuePolicy::default());
    let mut sent = Sent {
        bytes: Vec::new(),
        emptied: 0,
    };
    for _ in 0..100 {
        let most_messages = [3, 20][rng.usize(..2)];
        for _ in 0..rng.usize(..most_messages) {
            let most = [10, 100, 1_000, 10_000, 100 << 10][rng.usize(..5)];
            let from = sent.bytes.len();
            let end = from + rng.usize(1..=most);
            sent.bytes.resize_with(end, || rng.u8(..));
            put(&mut queue, &sent.bytes[from..], rng);
            if has_records && rng.bool() {
                queue.end_record();
            }
        }
        let had_bytes = !queue.is_empty();
        match rng.u32(..3) {
            0 => queue.drain_to(writer).await?,
            1 => {
                let write =
                    |cx: &mut Context<'_>| queue.poll_write_some(cx, Pin::new(&mut *writer));
                poll_fn(write).await?;
            }
            _ => {
                let most_polls = rng.u32(1..20);
                let written = polled(queue.drain_to(writer), most_polls).await;
                written.transpose()?;
            }
        }
        sent.emptied += usize::from(had_bytes && queue.is_empty());
    }
    sent.emptied += usize::from(!queue.is_empty());
    queue.drain_to(writer).await?;
    Ok(sent)
}

/// Sends to the reader and expects every byte there.
async fn expect_all(
    rng: &mut Rng,
    writer: &mut (impl AsyncWrite + Unpin),
    mut reader: server::TlsStream<DuplexStream>,
    has_records: bool,
) -> Sent {
    let received = tokio::spawn(async move {
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).await.map(|_| bytes)
    });
    let sent = send(rng, writer, has_records).await.unwrap();
    writer.shutdown().await.unwrap();
    let received = received.await.unwrap().unwrap();
    assert!(received == sent.bytes, "other bytes arrived");
    sent
}

/// Expects every record to be full, except the last one each time that the queue was emptied, and the alert that closes the
/// connection.
fn expect_full_records(records: usize, sent: &Sent) {
    let most = sent.bytes.len() / RECORD_BYTES + sent.emptied + 1;
    assert!(records <= most, "{records} records, at most {most}");
}

#[test]
fn a_queue_reaches_a_tls_stream_in_full_records() {
    runtime().unwrap().block_on(async {
        for seed in 0..3 {
            let mut connection = connect(ROOMY).await;
            let before = connection.records.load(Ordering::Relaxed);
            assert!(connection.writer.is_write_vectored());
            let rng = &mut Rng::with_seed(seed);
            let sent = expect_all(rng, &mut connection.writer, connection.reader, false).await;
            let records = connection.records.load(Ordering::Relaxed) - before;
            expect_full_records(records, &sent);
        }
    });
}

#[test]
fn a_queue_reaches_a_tls_stream_that_is_seldom_ready() {
    runtime().unwrap().block_on(async {
        for (seed, capacity) in [300, 5_000, 40_000].into_iter().enumerate() {
            let mut connection = connect(capacity).await;
            let rng = &mut Rng::with_seed(seed as u64);
            expect_all(rng, &mut connection.writer, connection.reader, true).await;
        }
    });
}

#[test]
fn a_tls_stream_that_does_not_gather_gets_full_records_by_the_rules_of_openssl() {
    runtime().unwrap().block_on(async {
        for (seed, capacity) in [300, 5_000, 40_000, ROOMY].into_iter().enumerate() {
            let connection = connect(capacity).await;
            let before = connection.records.load(Ordering::Relaxed);
            let mut writer = Strict::new(connection.writer);
            let rng = &mut Rng::with_seed(seed as u64);
            let sent = expect_all(rng, &mut writer, connection.reader, false).await;
            let records = connection.records.load(Ordering::Relaxed) - before;
            expect_full_records(records, &sent);
            assert!(writer.pendings() > 0 || capacity == ROOMY);
        }
    });
}

#[test]
fn ends_of_records_break_no_rule_of_openssl() {
    runtime().unwrap().block_on(async {
        for (seed, capacity) in [300, 5_000, 40_000].into_iter().enumerate() {
            let connection = connect(capacity).await;
            let mut writer = Strict::new(connection.writer);
            let rng = &mut Rng::with_seed(seed as u64);
            expect_all(rng, &mut writer, connection.reader, true).await;
            assert!(writer.pendings() > 0);
        }
    });
}
