//! Options of `vectored receive`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::parsers::{one_size, time};

/// The port that is listened on if none is named.
const PORT: u16 = 7350;

pub const RECEIVE_ABOUT: &str = "\
Receive what `vectored measure --target tcp://HOST:PORT` sends

Listens for TCP connections and serves one client at a time, until it is stopped. Bytes are read \
and discarded; each sample is answered with a checksum, by which the client knows that they \
arrived. Nothing is written anywhere.

A client needs the token: 128 random bits, which are printed at the start, or those in \
--token-file. Whoever has not sent it within 2 seconds is disconnected, and keeps no other client \
from being served. The line is not encrypted: whoever can read the traffic can read the token. \
Use an address of a network that you trust, or a tunnel (ssh -L).";

pub const RECEIVE_AFTER: &str = "\
Examples:
  vectored receive
          Listen on the loopback device, with a new token
  vectored receive --listen 192.0.2.1 --token-file token
          Listen on another address, with the token of both sides
  (umask 077; od -An -N16 -tx1 /dev/urandom | tr -d ' ' > token)
          Make a token file, to be copied to the other machine
  vectored measure --target tcp://192.0.2.1:7350 --token-file token
          On the other machine

Exit status: 1 failure, 2 wrong usage; 129, 130 or 143 if stopped by SIGHUP, SIGINT or SIGTERM.";

/// Options of `vectored receive`.
#[derive(Args, Debug)]
pub struct ReceiveArgs {
    /// Address to listen on, with or without a port; port 0 is any free one
    #[arg(long, value_name = "ADDRESS[:PORT]", value_parser = address, default_value_t = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), PORT))]
    pub listen: SocketAddr,

    /// File with the token: 32 hexadecimal digits [default: a new token, which is printed]
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,

    /// Bytes that one client may send
    #[arg(long, value_name = "BYTES", value_parser = one_size, default_value = "1024GiB")]
    pub max_bytes: u64,

    /// Time that one client may take
    #[arg(long, value_name = "TIME", value_parser = max_time, default_value = "1h", allow_hyphen_values = true)]
    pub max_time: Duration,

    /// Print only the address, the token and errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// The time of a client.
fn max_time(text: &str) -> Result<Duration, String> {
    match time(text, "10m or 1h")? {
        Duration::ZERO => Err("expected more than zero, for example 10m or 1h".to_owned()),
        time => Ok(time),
    }
}

/// An IP address, with or without a port.
fn address(text: &str) -> Result<SocketAddr, String> {
    let alone = text.trim_start_matches('[').trim_end_matches(']');
    match (text.parse(), alone.parse()) {
        (Ok(address), _) => Ok(address),
        (_, Ok(ip)) => Ok(SocketAddr::new(ip, PORT)),
        _ => Err(
            "expected an IP address, for example 127.0.0.1, 192.0.2.1:7350 or [::1]:7350"
                .to_owned(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_port_or_gets_one() {
        let of = |text| address(text).map(|address| address.to_string());
        assert_eq!(of("127.0.0.1").as_deref(), Ok("127.0.0.1:7350"));
        assert_eq!(of("192.0.2.1:80").as_deref(), Ok("192.0.2.1:80"));
        assert_eq!(of("::1").as_deref(), Ok("[::1]:7350"));
        assert_eq!(of("[::1]").as_deref(), Ok("[::1]:7350"));
        assert_eq!(of("[::]:0").as_deref(), Ok("[::]:0"));
        assert!(of("localhost").is_err());
    }
}
