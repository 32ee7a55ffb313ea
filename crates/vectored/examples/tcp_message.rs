//! Sends a header and a body over TCP by one call: `cargo run -p vectored --example tcp_message -- 127.0.0.1:7008`

use std::io::{self, IoSlice};
use std::net::TcpStream;

use vectored::cost::TargetKind;
use vectored::{CostModel, Gather};

fn main() -> io::Result<()> {
    let address = std::env::args().nth(1).expect("give HOST:PORT");
    let peer = TcpStream::connect(address)?;
    let mut gather = Gather::with_model(CostModel::for_target(TargetKind::Tcp)); // keep it
    send(&mut gather, &peer, &[b'h'; 150], &[b'b'; 6000])
}

/// Sends one message.
pub fn send(gather: &mut Gather, peer: &TcpStream, header: &[u8], body: &[u8]) -> io::Result<()> {
    gather.write_all(peer, &[IoSlice::new(header), IoSlice::new(body)])?;
    Ok(())
}
