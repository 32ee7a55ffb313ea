//! Memory in a steady state.

use bytes::Bytes;
use futures_util::SinkExt;
use tokio::io::AsyncReadExt;
use tokio::net::UnixStream;
use tokio::runtime::Builder;
use vectored_codec::{FramedQueue, LengthDelimitedEncoder};

use crate::sys::allocations;

#[test]
fn sending_frames_allocates_nothing_in_a_steady_state() {
    let runtime = Builder::new_current_thread().enable_io().build().unwrap();
    let (writer, mut reader) = {
        let _entered = runtime.enter();
        UnixStream::pair().unwrap()
    };
    let mut frames = FramedQueue::new(writer, LengthDelimitedEncoder::new());
    let bodies = [Bytes::from(vec![1; 100]), Bytes::from(vec![2; 5000])];
    let mut read = vec![0; 4 + 100 + 4 + 5000];
    let mut turn = || {
        runtime.block_on(async {
            for body in &bodies {
                frames.feed(body.clone()).await.unwrap();
            }
            frames.flush().await.unwrap();
            reader.read_exact(&mut read).await.unwrap();
        });
    };
    (0..10).for_each(|_| turn());
    let before = allocations();
    (0..100).for_each(|_| turn());
    assert_eq!(allocations() - before, 0, "allocations in 100 turns");
}
