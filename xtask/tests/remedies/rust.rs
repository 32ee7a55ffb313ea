use std::fs::File;
use std::io::{BufReader, BufWriter, IoSlice, IoSliceMut, Read, Result, Seek, SeekFrom, Write};
use std::net::{TcpStream, UdpSocket};
use std::os::{fd::AsRawFd, unix::fs::FileExt};

fn show(mut from: impl Read) -> Result<()> {
    let mut record = [0; 39];
    while from.read_exact(&mut record).is_ok() {
        std::io::stdout().write_all(&record)?;
    }
    Ok(())
}

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().collect();
    let [_, case, path, port, count] = &words[..] else {
        panic!("4 words, not {words:?}")
    };
    let count = count.parse::<usize>().unwrap();
    let records: Vec<[Vec<u8>; 2]> = (0..count)
        .map(|i| [b"record ".to_vec(), format!("{i:031}\n").into_bytes()])
        .collect();
    let peer = format!("127.0.0.1:{port}");
    let new = || {
        File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(path)
    };
    let list = || {
        records
            .iter()
            .flatten()
            .map(|part| IoSlice::new(part))
            .collect::<Vec<_>>()
    };
    let mut gather = vectored::Gather::new();
    match &case[..] {
        "adjacent-writes/file 0" => {
            let mut file = new()?;
            records
                .iter()
                .flatten()
                .try_for_each(|part| file.write_all(part))
        }
        "adjacent-writes/file 1" => {
            let file = new()?;
            let mut file = vectored::GatherWriter::with_capacity(65536, file);
            records
                .iter()
                .flatten()
                .try_for_each(|part| file.write_all(part))?;
            file.flush()?;
            // `exit` runs no destructor.
            std::process::exit(0)
        }
        "adjacent-writes/file 2" => {
            let file = new()?;
            let mut file = BufWriter::with_capacity(65536, file);
            records
                .iter()
                .flatten()
                .try_for_each(|part| file.write_all(part))?;
            file.flush()?;
            // `exit` runs no destructor.
            std::process::exit(0)
        }
        "adjacent-writes/file 3" => {
            let file = new()?;
            for record in &records {
                let segments = [IoSlice::new(&record[0]), IoSlice::new(&record[1])];
                gather.write_all(&file, &segments)?;
            }
            Ok(())
        }
        "adjacent-writes/unix 0" => {
            let mut stream = TcpStream::connect(peer)?;
            records
                .iter()
                .flatten()
                .try_for_each(|part| stream.write_all(part))
        }
        "adjacent-writes/unix 1" => {
            let mut stream = TcpStream::connect(peer)?;
            for [header, body] in records.iter().map(|record| [&record[0][..], &record[1][..]]) {
                stream.write_all(&[header, body].concat())?;
            }
            Ok(())
        }
        "adjacent-writes/unix 2" => {
            let stream = TcpStream::connect(peer)?;
            for record in &records {
                let segments = [IoSlice::new(&record[0]), IoSlice::new(&record[1])];
                gather.write_all(&stream, &segments)?;
            }
            Ok(())
        }
        "adjacent-writes/unix 3" => {
            let stream = TcpStream::connect(peer)?;
            let mut stream = vectored::GatherWriter::with_capacity(65536, stream);
            records
                .iter()
                .flatten()
                .try_for_each(|part| stream.write_all(part))?;
            stream.flush()
        }
        "no-delay/tcp 1" => {
            let mut stream = TcpStream::connect(peer)?;
            stream.set_nodelay(true)?;
            records
                .iter()
                .flatten()
                .try_for_each(|part| stream.write_all(part))
        }
        "small-reads/file 0" => show(File::open(path)?),
        "small-reads/file 1" => {
            let file = File::open(path)?;
            show(BufReader::with_capacity(65536, file))
        }
        "small-reads/file 2" => {
            let file = File::open(path)?;
            show(vectored::ScatterReader::with_capacity(65536, file))
        }
        "small-reads/pipe 0" => show(TcpStream::connect(peer)?),
        "small-reads/pipe 1" => {
            let stream = TcpStream::connect(peer)?;
            show(BufReader::with_capacity(65536, stream))
        }
        "small-reads/pipe 2" => {
            let stream = TcpStream::connect(peer)?;
            show(vectored::ScatterReader::with_capacity(65536, stream))
        }
        "positional-writes/file 0" => {
            let (file, mut offset) = (new()?, 0);
            for part in records.iter().flatten() {
                file.write_all_at(part, offset)?;
                offset += part.len() as u64;
            }
            Ok(())
        }
        "positional-writes/file 1" => {
            let (file, mut offset) = (new()?, 0);
            for record in &records {
                let segments = [IoSlice::new(&record[0]), IoSlice::new(&record[1])];
                gather.write_all_at(&file, &segments, offset)?;
                offset += 39;
            }
            Ok(())
        }
        "positional-reads/file 0" => {
            let (file, mut all) = (File::open(path)?, vec![0; 39 * count]);
            for (i, record) in all.chunks_mut(39).enumerate() {
                file.read_exact_at(record, 39 * i as u64)?;
            }
            std::io::stdout().write_all(&all)
        }
        "positional-reads/file 1" => {
            let (file, mut all) = (File::open(path)?, vec![0; 39 * count]);
            let mut scatter = vectored::Scatter::new();
            for (i, two) in all.chunks_mut(78).enumerate() {
                let (a, b) = two.split_at_mut(39);
                let (mut segments, offset) =
                    ([IoSliceMut::new(a), IoSliceMut::new(b)], 78 * i as u64);
                scatter.read_exact_at(&file, &mut segments, offset)?;
            }
            std::io::stdout().write_all(&all)
        }
        "seek-then-transfer/file 0" => {
            let mut file = new()?;
            for (i, record) in records.iter().enumerate() {
                file.seek(SeekFrom::Start(39 * i as u64))?;
                file.write_all(&record.concat())?;
            }
            Ok(())
        }
        "seek-then-transfer/file 1" => {
            let file = new()?;
            for (i, record) in records.iter().enumerate() {
                let (data, offset) = (&record.concat(), 39 * i as u64);
                file.write_all_at(data, offset)?;
            }
            Ok(())
        }
        "seek-then-transfer/file#read 0" => {
            let (mut file, mut all) = (File::open(path)?, vec![0; 39 * count]);
            for (i, record) in all.chunks_mut(39).enumerate() {
                file.seek(SeekFrom::Start(39 * i as u64))?;
                file.read_exact(record)?;
            }
            std::io::stdout().write_all(&all)
        }
        "seek-then-transfer/file#read 1" => {
            let (file, mut all) = (File::open(path)?, vec![0; 39 * count]);
            for (i, data) in all.chunks_mut(39).enumerate() {
                let offset = 39 * i as u64;
                file.read_exact_at(data, offset)?;
            }
            std::io::stdout().write_all(&all)
        }
        "tiny-segments/file 0" => {
            let mut file = new()?;
            list()
                .chunks(20)
                .try_for_each(|segments| file.write_vectored(segments).map(drop))
        }
        "tiny-segments/file 1" => {
            let fd = new()?;
            for segments in list().chunks(20) {
                gather.write_all(&fd, &segments)?;
            }
            Ok(())
        }
        "sync-each/file 0" => {
            let mut file = new()?;
            for record in &records {
                file.write_all(&record.concat())?;
                file.sync_data()?;
            }
            Ok(())
        }
        "sync-each/file 1" => {
            let mut file = new()?;
            records
                .iter()
                .try_for_each(|record| file.write_all(&record.concat()))?;
            file.sync_data()
        }
        "datagrams/file 0" => {
            let socket = UdpSocket::bind("127.0.0.1:0")?;
            records
                .iter()
                .try_for_each(|record| socket.send_to(&record.concat(), &peer).map(drop))
        }
        "datagrams/file 1" => {
            let socket = UdpSocket::bind("127.0.0.1:0")?;
            socket.connect(peer)?;
            let (fd, count) = (socket.as_raw_fd(), count as u32);
            let mut segments = list();
            let message = |segments: &mut [IoSlice<'_>]| {
                let mut message: libc::mmsghdr = unsafe { std::mem::zeroed() };
                message.msg_hdr.msg_iov = segments.as_mut_ptr().cast();
                message.msg_hdr.msg_iovlen = segments.len();
                message
            };
            let mut messages: Vec<_> = segments.chunks_mut(2).map(message).collect();
            let sent = unsafe { libc::sendmmsg(fd, messages.as_mut_ptr(), count, 0) };
            assert_eq!(sent, count as i32);
            Ok(())
        }
        _ => std::process::exit(2),
    }
}
