//! A server that writes each answer in four pieces to a Unix socket: status line, headers, body, end.
//! The client is a process of its own. It sends the next request when it has the whole answer.

use std::io::{self, BufRead, BufReader, IoSlice, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::Command;

use vectored::write_all;
use vectored_pairs::{Invocation, Version};

const SOCKET: &str = "socket";
const BODY_BYTES: usize = 700;

fn main() -> io::Result<()> {
    // The client is this program with `client` in place of the version.
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [role, directory, count] = &words[..]
        && role == "client"
    {
        let count = count.parse().map_err(|_| io::ErrorKind::InvalidInput)?;
        return ask(Path::new(directory), count);
    }
    let invocation = Invocation::from_args()?;
    let path = invocation.directory.join(SOCKET);
    let listener = UnixListener::bind(&path)?;
    let mut client = Command::new(std::env::current_exe()?)
        .arg("client")
        .arg(&invocation.directory)
        .arg(invocation.count.to_string())
        .spawn()?;
    let (stream, _) = listener.accept()?;
    let served = serve(stream, invocation.version);
    let ended = client.wait()?;
    std::fs::remove_file(path)?;
    served?;
    if ended.success() {
        Ok(())
    } else {
        Err(io::Error::other("the client failed"))
    }
}

fn serve(mut stream: UnixStream, version: Version) -> io::Result<()> {
    let body = [b'b'; BODY_BYTES];
    let mut questions = BufReader::new(stream.try_clone()?);
    let mut question = String::new();
    loop {
        question.clear();
        if questions.read_line(&mut question)? == 0 {
            return Ok(());
        }
        let headers = format!("length: {BODY_BYTES}\nfor: {question}\n");
        let pieces: [&[u8]; 4] = [b"status: fine\n", headers.as_bytes(), &body, b"\nend\n"];
        match version {
            Version::Before => pieces
                .iter()
                .try_for_each(|piece| stream.write_all(piece))?,
            Version::After => {
                write_all(&stream, &pieces.map(IoSlice::new))?;
            }
        }
    }
}

/// Sends requests and sums the bytes of the answers.
fn ask(directory: &Path, count: u64) -> io::Result<()> {
    let mut stream = UnixStream::connect(directory.join(SOCKET))?;
    let mut sum = 0_u64;
    let mut buffer = [0; 4096];
    for number in 0..count {
        stream.write_all(format!("page {number}\n").as_bytes())?;
        let mut got = 0;
        while !buffer[..got].ends_with(b"\nend\n") {
            match stream.read(&mut buffer[got..])? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                bytes => got += bytes,
            }
        }
        sum = buffer[..got]
            .iter()
            .fold(sum, |sum, &byte| sum.wrapping_add(byte.into()));
    }
    std::fs::write(directory.join(vectored_pairs::OUTPUT), format!("{sum}\n"))
}
