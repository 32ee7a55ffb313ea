//! Tests of copies between real descriptors: the arrived bytes, the counts, and the bytes that stay in the input.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{self, JoinHandle};

use vectored::bindings::{CallEnd, interruptible};
use vectored::copy::{CopyError, Options, Side, Technique};
use vectored::{AsDescriptor, copy};

use crate::support::{TemporaryFile, payload, set_nonblocking};

const TECHNIQUES: [Technique; 4] = [
    Technique::ReadWrite,
    Technique::CopyFileRange,
    Technique::Sendfile,
    Technique::Splice,
];

fn content(bytes: usize) -> Vec<u8> {
    payload(&[bytes]).concat()
}

fn file(name: &str, content: &[u8]) -> (TemporaryFile, File) {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let path = TemporaryFile::new(&format!("{name}-{number}"));
    fs::write(&path.0, content).unwrap();
    let file = File::options().read(true).write(true).open(&path.0);
    (path, file.unwrap())
}

fn tcp() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (one, listener.accept().unwrap().0)
}

/// Opens a descriptor with this content. A thread writes the bytes of a stream.
fn input(kind: &str, content: &[u8]) -> OwnedFd {
    let (fd, mut feeder): (OwnedFd, Box<dyn Write + Send>) = match kind {
        "file" => return file("copy-input", content).1.into(),
        "pipe" => {
            let (from, to) = io::pipe().unwrap();
            (from.into(), Box::new(to))
        }
        "unix" => {
            let (from, to) = UnixStream::pair().unwrap();
            (from.into(), Box::new(to))
        }
        _ => {
            let (from, to) = tcp();
            (from.into(), Box::new(to))
        }
    };
    let content = content.to_vec();
    thread::spawn(move || {
        // The copy may end before all bytes are read.
        content
            .chunks(7777)
            .all(|piece| feeder.write_all(piece).is_ok())
    });
    fd
}

enum Arrival {
    In(TemporaryFile),
    By(JoinHandle<Vec<u8>>),
}

impl Arrival {
    fn by(mut from: impl Read + Send + 'static) -> Arrival {
        Arrival::By(thread::spawn(move || {
            let mut all = Vec::new();
            from.read_to_end(&mut all).unwrap();
            all
        }))
    }

    fn all(self) -> Vec<u8> {
        match self {
            Arrival::In(path) => fs::read(&path.0).unwrap(),
            Arrival::By(thread) => thread.join().unwrap(),
        }
    }
}

fn output(kind: &str) -> (OwnedFd, Arrival) {
    match kind {
        "file" | "appended file" => {
            let (path, file) = file("copy-output", b"");
            drop(file);
            let appends = kind != "file";
            let file = File::options().write(true).append(appends).open(&path.0);
            (file.unwrap().into(), Arrival::In(path))
        }
        "pipe" => {
            let (from, to) = io::pipe().unwrap();
            (to.into(), Arrival::by(from))
        }
        "unix" => {
            let (from, to) = UnixStream::pair().unwrap();
            (to.into(), Arrival::by(from))
        }
        _ => {
            let (from, to) = tcp();
            (to.into(), Arrival::by(from))
        }
    }
}

#[test]
fn every_technique_delivers_between_all_pairs_what_it_counts() {
    let mut whole = 0;
    for from in ["file", "pipe", "unix", "tcp"] {
        for to in ["file", "appended file", "pipe", "unix", "tcp"] {
            for bytes in [0, 1, 70_000, 1_000_003] {
                let techniques = TECHNIQUES.map(Some).into_iter().chain([None]);
                for technique in techniques {
                    let what = format!("{bytes} bytes, {from} to {to}, {technique:?}");
                    let content = content(bytes);
                    let (mut source, (sink, arrival)) =
                        (File::from(input(from, &content)), output(to));
                    let options = Options::new();
                    let result = options.technique(technique).copy(&source, &sink);
                    drop(sink);
                    let arrived = arrival.all();
                    match result {
                        Ok(copied) => {
                            assert_eq!(copied.bytes, bytes as u64, "{what}");
                            assert!(arrived == content, "{what}");
                            whole += 1;
                        }
                        // A named technique may be refused. The technique has then read no byte.
                        Err(error) => {
                            assert!(technique.is_some(), "{what}: {error}");
                            assert_ne!(technique, Some(Technique::ReadWrite), "{what}: {error}");
                            assert_eq!((error.read(), arrived.len()), (0, 0), "{what}: {error}");
                            let mut rest = Vec::new();
                            source.read_to_end(&mut rest).unwrap();
                            assert!(rest == content, "{what}: {error}");
                        }
                    }
                }
            }
        }
    }
    // 20 pairs of descriptors, 4 sizes and 2 techniques: `ReadWrite` and the choice of the library.
    assert!(whole >= 160, "{whole}");
}

#[test]
fn a_copy_between_files_goes_by_the_mebibyte() {
    let content = content(3 << 20);
    // If the file system does not copy files itself, each call copies 1 MiB, the size of the pipe.
    let (source, (sink, _)) = (File::from(input("file", &content)), output("file"));
    let copied = Options::new().copy(&source, &sink).unwrap();
    assert_eq!(copied.bytes, 3 << 20);
    assert!(
        copied.technique != Technique::Splice || copied.calls == 3,
        "{copied:?}"
    );
}

#[test]
fn a_copy_does_not_change_when_the_source_is_written_afterwards() {
    for is_socket in [false, true] {
        let before = content(40_000);
        let (_path, mut source) = file("copy-alias", &before);
        let (sink, mut reader): (OwnedFd, Box<dyn Read>) = if is_socket {
            let (reader, sink) = UnixStream::pair().unwrap();
            (sink.into(), Box::new(reader))
        } else {
            let (reader, sink) = io::pipe().unwrap();
            (sink.into(), Box::new(reader))
        };
        assert_eq!(copy(&source, &sink).unwrap(), 40_000);
        source.rewind().unwrap();
        source.write_all(&vec![0; 40_000]).unwrap();
        drop(sink);
        let mut arrived = Vec::new();
        reader.read_to_end(&mut arrived).unwrap();
        assert!(arrived == before, "socket: {is_socket}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_copy_that_may_alias_splices_a_long_file_into_a_pipe() {
    let content = content(1_000_003);
    let (sink, arrival) = output("pipe");
    let source = File::from(input("file", &content));
    let copied = Options::new().may_alias(true).copy(&source, &sink).unwrap();
    drop(sink);
    assert!(arrival.all() == content);
    assert_eq!(
        (copied.bytes, copied.technique),
        (1_000_003, Technique::Splice)
    );
    let mut source = File::from(input("file", &content));
    let (reader, sink) = io::pipe().unwrap();
    set_nonblocking(&sink);
    let error = Options::new().may_alias(true).copy(&source, &sink);
    let error = error.unwrap_err();
    assert_eq!(
        (error.kind(), error.side(), error.unwritten()),
        (ErrorKind::WouldBlock, Some(Side::Output), &[][..])
    );
    assert_eq!(source.stream_position().unwrap(), error.written());
    drop(sink);
    let arrived = Arrival::by(reader).all();
    assert!(arrived == content[..error.written() as usize] && !arrived.is_empty());
}

#[test]
fn a_copy_of_a_file_to_itself_that_would_never_end_is_refused() {
    let (path, mut source) = file("copy-itself", b"once");
    let refused = |from: &File, to: &File| {
        let error = copy(from, to).unwrap_err();
        assert_eq!(
            (error.kind(), error.side()),
            (ErrorKind::InvalidInput, Some(Side::Output))
        );
        assert_eq!(fs::read(&path.0).unwrap(), b"once");
    };
    let link = TemporaryFile::new("copy-itself-link");
    fs::hard_link(&path.0, &link.0).unwrap();
    for name in [&path.0, &link.0] {
        refused(&source, &File::options().append(true).open(name).unwrap());
        let mut ahead = File::options().write(true).open(name).unwrap();
        ahead.seek(SeekFrom::Start(1)).unwrap();
        refused(&source, &ahead);
    }
    // The copy goes to the same place, and then to an earlier place.
    let mut to = File::options().write(true).open(&path.0).unwrap();
    assert_eq!(copy(&source, &to).unwrap(), 4);
    source.seek(SeekFrom::Start(1)).unwrap();
    to.rewind().unwrap();
    assert_eq!(copy(&source, &to).unwrap(), 3);
    assert_eq!(fs::read(&path.0).unwrap(), b"ncee");
    let (reader, writer) = io::pipe().unwrap();
    assert_eq!(
        copy(&reader, &writer).unwrap_err().kind(),
        ErrorKind::InvalidInput
    );
}

/// Either only the input blocks, or only the output blocks. The copy waits for that end.
#[test]
fn an_end_that_waits_is_waited_for_though_the_other_does_not() {
    let (from, mut feeder) = io::pipe().unwrap();
    let (mut reader, sink) = io::pipe().unwrap();
    set_nonblocking(&sink);
    let copying = thread::spawn(move || copy(from, sink));
    feeder.write_all(b"late").unwrap();
    let mut four = [0; 4];
    reader.read_exact(&mut four).unwrap();
    feeder.write_all(b"and later").unwrap();
    drop(feeder);
    assert_eq!(copying.join().unwrap().unwrap(), 13);

    let (from, mut feeder) = io::pipe().unwrap();
    let (reader, sink) = io::pipe().unwrap();
    feeder.write_all(&content(60_000)).unwrap();
    set_nonblocking(&from);
    assert_eq!(copy(&from, &sink).unwrap_err().side(), Some(Side::Input));
    feeder.write_all(&content(60_000)).unwrap();
    drop(feeder);
    let copying = thread::spawn(move || copy(from, sink));
    assert_eq!(Arrival::by(reader).all().len(), 120_000);
    assert_eq!(copying.join().unwrap().unwrap(), 60_000);
}

#[test]
fn an_error_has_what_was_read_and_the_input_has_the_rest() {
    let all = content(300_000);
    for from in ["file", "pipe", "unix", "tcp"] {
        let mut source = File::from(input(from, &all));
        let (reader, sink) = io::pipe().unwrap();
        drop(reader);
        let error: CopyError = copy(&source, &sink).unwrap_err();
        assert_eq!(
            (error.kind(), error.side()),
            (ErrorKind::BrokenPipe, Some(Side::Output))
        );
        assert_eq!(error.written(), 0);
        let mut rest = error.unwritten().to_vec();
        source.read_to_end(&mut rest).unwrap();
        assert!(rest == all, "{from}");
    }
    // These are the wrong ends of pipes.
    let (reader, writer) = io::pipe().unwrap();
    for to in ["file", "pipe", "tcp"] {
        assert_eq!(
            copy(&writer, output(to).0).unwrap_err().side(),
            Some(Side::Input),
            "{to}"
        );
    }
    for from in ["file", "pipe", "tcp"] {
        let source = input(from, b"some");
        assert_eq!(
            copy(&source, &reader).unwrap_err().side(),
            Some(Side::Output),
            "{from}"
        );
    }
    let directory = File::open("/").unwrap();
    assert_eq!(
        copy(&directory, &writer).unwrap_err().side(),
        Some(Side::Input)
    );
}

#[test]
#[cfg(target_os = "linux")]
fn a_connection_that_its_peer_has_reset_has_no_end() {
    for to in ["file", "pipe", "tcp"] {
        let (source, mut peer) = UnixStream::pair().unwrap();
        peer.write_all(b"part").unwrap();
        // The peer closes with unread bytes, which resets the connection.
        (&source).write_all(b"request").unwrap();
        drop(peer);
        let (sink, arrival) = output(to);
        let error = copy(&source, &sink).unwrap_err();
        drop(sink);
        assert_eq!(
            (error.kind(), error.side(), error.written()),
            (ErrorKind::ConnectionReset, Some(Side::Input), 4)
        );
        assert_eq!(arrival.all(), b"part");
    }
}

#[test]
fn descriptors_that_keep_messages_apart_are_refused() {
    let (one, other) = UnixDatagram::pair().unwrap();
    other.send(b"message").unwrap();
    let (_path, file) = file("copy-messages", b"bytes");
    let nothing = |from: &dyn AsDescriptor, to: &dyn AsDescriptor| {
        let looked = Options::new().limit(0).copy(from, to);
        looked.unwrap_err()
    };
    for (error, side) in [
        (copy(&one, &file).unwrap_err(), Side::Input),
        (copy(&file, &one).unwrap_err(), Side::Output),
        (nothing(&one, &file), Side::Input),
        (nothing(&file, &one), Side::Output),
        (
            Options::new().check_into_new_file(&one).unwrap_err(),
            Side::Input,
        ),
    ] {
        assert_eq!(
            (error.kind(), error.side()),
            (ErrorKind::InvalidInput, Some(side))
        );
    }
    let mut message = [0; 10];
    assert_eq!(one.recv(&mut message).unwrap(), 7);
}

#[test]
fn a_program_can_stop_a_copy_between_two_calls() {
    for from in ["file", "pipe"] {
        let mut source = File::from(input(from, &content(100_000)));
        let (sink, arrival) = output("file");
        let options = || {
            Options::new()
                .technique(Technique::ReadWrite)
                .buffer_bytes(1000)
        };
        let stop = |end| end == CallEnd::Other;
        let result = interruptible(stop, || options().copy(&source, &sink));
        let error = result.unwrap_err();
        assert_eq!(
            (error.kind(), error.written()),
            (ErrorKind::Interrupted, 1000)
        );
        let mut rest = arrival.all();
        source.read_to_end(&mut rest).unwrap();
        assert!(rest == content(100_000));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_pipe_is_enlarged_on_demand_after_the_first_mebibyte() {
    use rustix::pipe::{fcntl_getpipe_size, fcntl_setpipe_size};
    const ALL: usize = 3 << 20;
    let sizes = |enlarged: Option<usize>, technique, first: usize| {
        let (from, mut feeder) = io::pipe().unwrap();
        fcntl_setpipe_size(&from, first).unwrap();
        let feeding = std::thread::spawn(move || feeder.write_all(&content(ALL)));
        let mut options = Options::new().technique(technique);
        if let Some(bytes) = enlarged {
            options = options.enlarge_pipe(bytes);
        }
        let (mut seen, mut early) = (0, 0);
        let mut note = |bytes: u64| {
            seen = fcntl_getpipe_size(&from).unwrap();
            if bytes < 1 << 20 {
                early = early.max(seen);
            }
            std::ops::ControlFlow::Continue(())
        };
        let (to, arrival) = output("file");
        let copied = options.progress(&mut note).copy(&from, &to).unwrap();
        feeding.join().unwrap().unwrap();
        assert_eq!(copied.bytes, ALL as u64);
        assert!(arrival.all() == content(ALL));
        (early, seen)
    };
    for technique in [None, Some(Technique::Splice)] {
        assert_eq!(sizes(Some(1 << 18), technique, 1 << 16), (1 << 16, 1 << 18));
        assert_eq!(sizes(None, technique, 1 << 16), (1 << 16, 1 << 16));
        assert_eq!(sizes(Some(1 << 16), technique, 1 << 18), (1 << 18, 1 << 18));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn the_pipe_that_a_long_file_goes_into_is_enlarged_on_demand() {
    use rustix::pipe::fcntl_getpipe_size;
    let before = 1 << 16;
    for (bytes, demand, after) in [
        (3 << 20, Some(1 << 18), 1 << 18),
        (3 << 20, None, before),
        (1 << 19, Some(1 << 18), before),
    ] {
        let file = rustix::fs::memfd_create("vectored", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        rustix::fs::ftruncate(&file, bytes).unwrap();
        let (mut reader, to) = io::pipe().unwrap();
        let reading = std::thread::spawn(move || io::copy(&mut reader, &mut io::sink()).unwrap());
        let mut options = Options::new().may_alias(true);
        if let Some(size) = demand {
            options = options.enlarge_pipe(size);
        }
        assert_eq!(options.copy(&file, &to).unwrap().bytes, bytes);
        assert_eq!(
            fcntl_getpipe_size(&to).unwrap(),
            after,
            "{bytes} {demand:?}"
        );
        drop(to);
        assert_eq!(reading.join().unwrap(), bytes);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn more_than_a_call_moves_is_copied_whole() {
    let bytes = 2 * 0x7fff_f000 + 3;
    let file = rustix::fs::memfd_create("vectored", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
    rustix::fs::ftruncate(&file, bytes).unwrap();
    let null = File::options().write(true).open("/dev/null").unwrap();
    let copied = Options::new().copy(&file, &null).unwrap();
    assert_eq!(
        (copied.bytes, copied.technique),
        (bytes, Technique::Sendfile)
    );
    assert_eq!(copied.calls, bytes.div_ceil(16 << 20));
}
