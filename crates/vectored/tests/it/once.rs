//! Tests of `write_once`, which makes one system call or no call.

use std::fs::{self, File};
use std::io::{self, ErrorKind, IoSlice, Read};
use std::os::unix::net::{UnixDatagram, UnixStream};

use vectored::write_once;

use crate::support::{TemporaryFile, list, payload, set_nonblocking};

const PIPE_BUF: usize = libc::PIPE_BUF;

#[test]
fn a_record_that_does_not_fit_one_call_is_refused_before_any_byte() {
    let path = TemporaryFile::new("once-refused");
    let file = File::options()
        .append(true)
        .create(true)
        .open(&path.0)
        .unwrap();
    let max = vectored::limits::iov_max();
    let data = payload(&vec![2; max + 1]);
    let error = write_once(&file, &list(&data)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert_eq!(error.transferred(), 0);
    assert!(error.to_string().contains("IOV_MAX"), "{error}");

    // 512 segments of 4 MiB have 2 GiB.
    let chunk = vec![0; 4 << 20];
    let error = write_once(&file, &vec![IoSlice::new(&chunk); 512]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.to_string().contains("MAX_CALL_BYTES"), "{error}");
    assert_eq!(fs::metadata(&path.0).unwrap().len(), 0);

    // The largest list that fits is written. Empty segments do not count.
    let mut sizes = vec![0; 3000];
    sizes.extend(vec![2; max]);
    sizes.push(0);
    let data = payload(&sizes);
    assert_eq!(write_once(&file, &list(&data)).unwrap(), 2 * max as u64);
    assert_eq!(fs::read(&path.0).unwrap(), data.concat());
}

/// On a pipe, a longer call may be mixed with the calls of other writers (pipe(7)).
#[test]
fn a_record_longer_than_pipe_buf_is_refused_on_a_pipe_and_on_nothing_else() {
    let (mut reader, writer) = io::pipe().unwrap();
    set_nonblocking(&reader);
    let data = payload(&[PIPE_BUF - 10, 11]);
    let error = write_once(&writer, &list(&data)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert_eq!(error.transferred(), 0);
    assert!(error.to_string().contains("PIPE_BUF"), "{error}");
    let nothing = reader.read(&mut [0]).unwrap_err();
    assert_eq!(nothing.kind(), ErrorKind::WouldBlock);

    let fits = payload(&[PIPE_BUF - 10, 10]);
    assert_eq!(write_once(&writer, &list(&fits)).unwrap(), PIPE_BUF as u64);
    let (stream, _peer) = UnixStream::pair().unwrap();
    assert_eq!(
        write_once(&stream, &list(&data)).unwrap(),
        PIPE_BUF as u64 + 1
    );
    assert_eq!(
        write_once(File::create("/dev/null").unwrap(), &list(&data)).unwrap(),
        PIPE_BUF as u64 + 1
    );
}

#[test]
fn a_list_is_one_message() {
    let (sender, receiver) = UnixDatagram::pair().unwrap();
    let data = payload(&[3, 0, 1000, 5]);
    assert_eq!(write_once(&sender, &list(&data)).unwrap(), 1008);
    let mut message = [0; 2000];
    let bytes = receiver.recv(&mut message).unwrap();
    assert_eq!(message[..bytes], data.concat());

    receiver.set_nonblocking(true).unwrap();
    assert_eq!(write_once(&sender, &list(&payload(&[0, 0]))).unwrap(), 0);
    assert_eq!(
        receiver.recv(&mut message).unwrap_err().kind(),
        ErrorKind::WouldBlock
    );
}
