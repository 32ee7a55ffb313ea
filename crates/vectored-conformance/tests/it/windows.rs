//! A socket of Windows that would block.

use std::io::{ErrorKind, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};

use vectored::{SegmentCursor, resume_read};
use vectored_conformance::model::{GuardedList, mixed_sizes};

use crate::support::content;

#[test]
fn a_socket_that_would_block_is_resumed_where_it_stopped() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let mut writer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (reader, _) = listener.accept().unwrap();
    reader.set_nonblocking(true).unwrap();
    let sizes = mixed_sizes(50);
    let content = content(&sizes);
    let mut memory = GuardedList::new(&sizes);
    let mut segments = memory.segments();
    let mut cursor = SegmentCursor::new();
    let (mut reported, mut resumptions) = (0, 0);
    let mut pieces = content.chunks(3000);
    loop {
        match resume_read(&reader, &mut segments, &mut cursor) {
            Ok(count) => {
                reported += count;
                break;
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
                reported += error.transferred();
                resumptions += 1;
                match pieces.next() {
                    Some(piece) => writer.write_all(piece).unwrap(),
                    // The last piece is on its way.
                    None => std::thread::yield_now(),
                }
            }
        }
    }
    drop(segments);
    assert!(resumptions > 0);
    assert_eq!(reported, content.len() as u64);
    assert!(memory.received() == content);
    assert_eq!(memory.stray_writes(), 0);
}
