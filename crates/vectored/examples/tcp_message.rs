//! A server that sends a header and a body over TCP by one call: `cargo run -p vectored --example tcp_message`

use std::io::{self, BufRead, BufReader, ErrorKind, IoSlice};
use std::net::{TcpListener, TcpStream};

use vectored::cost::TargetKind;
use vectored::{CostModel, Gather, SegmentCursor};

fn main() -> io::Result<()> {
    let mut gather = Gather::with_model(CostModel::for_target(TargetKind::Tcp)); // keep it
    for client in TcpListener::bind("127.0.0.1:7008")?.incoming() {
        if let Err(error) = serve(&mut gather, &client?) {
            eprintln!("{error}");
        }
    }
    Ok(())
}

/// Answers each line of a client with a message.
fn serve(gather: &mut Gather, client: &TcpStream) -> io::Result<()> {
    for _request in BufReader::new(client).lines() {
        let (header, body) = (vec![b'h'; 150], vec![b'b'; 6000]);
        send(gather, client, &header, &body)?;
    }
    Ok(())
}

/// Sends one message. If the socket takes only a part, the function makes several calls.
pub fn send(gather: &mut Gather, peer: &TcpStream, header: &[u8], body: &[u8]) -> io::Result<()> {
    gather.write_all(peer, &[IoSlice::new(header), IoSlice::new(body)])?;
    Ok(())
}

/// Continues a message on a non-blocking socket. If the result is false, call the function again when the socket is
/// writable.
pub fn go_on(
    gather: &mut Gather,
    peer: &TcpStream,
    message: &[IoSlice<'_>],
    sent: &mut SegmentCursor, // begins as SegmentCursor::new()
) -> io::Result<bool> {
    match gather.resume_write(peer, message, sent) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
        Err(error) => Err(error.into()),
    }
}
