//! Tests of the flush at the end of `drain_to`. `vectored-conformance/src/queue/soak.rs` tests real streams and
//! cancelled operations.

use tokio::io::AsyncReadExt;
use vectored::SegmentQueue;

#[tokio::test]
async fn a_queue_reaches_a_buffered_writer_that_is_flushed() {
    let (writer, mut reader) = tokio::io::duplex(10_000);
    let mut writer = tokio::io::BufWriter::new(writer);
    let mut queue = SegmentQueue::new();
    queue.put_slice(b"short");
    queue.drain_to(&mut writer).await.unwrap();
    let mut read = [0; 5];
    reader.read_exact(&mut read).await.unwrap();
    assert_eq!(&read, b"short");
}
