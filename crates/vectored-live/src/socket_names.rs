//! Names of sockets, as strace shows them with -yy.

use std::collections::HashMap;
use std::fs;

use crate::record::Slot;

/// The sockets of the namespace of a process, by `socket:[inode]`.
pub(crate) fn sockets_of(process: u32) -> HashMap<Vec<u8>, Vec<u8>> {
    let mut all = HashMap::new();
    let table =
        |name: &str| fs::read_to_string(format!("/proc/{process}/net/{name}")).unwrap_or_default();
    for (name, kind) in [
        ("tcp", "TCP"),
        ("tcp6", "TCPv6"),
        ("udp", "UDP"),
        ("udp6", "UDPv6"),
    ] {
        for line in table(name).lines().skip(1) {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [_, local, peer, state, _, _, _, _, _, inode, ..] = words[..] else {
                continue;
            };
            let (Some(local), Some(peer)) = (address(local), address(peer)) else {
                continue;
            };
            // A socket that listens has no peer.
            let text = if state == "0A" {
                format!("{kind}:[{local}]")
            } else {
                format!("{kind}:[{local}->{peer}]")
            };
            all.insert(format!("socket:[{inode}]").into_bytes(), text.into_bytes());
        }
    }
    for line in table("unix").lines().skip(1) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, _, _, _, kind, _, inode, ..] = words[..] else {
            continue;
        };
        let name = unix_kind(kind.parse().unwrap_or(0));
        all.insert(
            format!("socket:[{inode}]").into_bytes(),
            format!("{name}:[{inode}]").into_bytes(),
        );
    }
    all
}

/// The name of a socket whose ends `bpf/live.bpf.c` recorded.
pub(crate) fn socket_name(ends: &Slot) -> Option<Vec<u8>> {
    let bytes: Vec<u8> = ends.iter().flat_map(|word| word.to_le_bytes()).collect();
    let half = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
    let (family, datagrams) = (i32::from(half(0)), half(2) == 2);
    let end = |host: usize, port: usize| match family {
        libc::AF_INET => in_text(&bytes[host..host + 4], half(port)),
        _ => in_text(&bytes[host..host + 16], half(port)),
    };
    let kind = match (family, datagrams) {
        (libc::AF_INET, false) => "TCP",
        (libc::AF_INET, true) => "UDP",
        (libc::AF_INET6, false) => "TCPv6",
        (libc::AF_INET6, true) => "UDPv6",
        (libc::AF_UNIX, _) => {
            return Some(format!("{}:[{}]", unix_kind(half(2)), ends[5]).into_bytes());
        }
        _ => return None,
    };
    Some(format!("{kind}:[{}->{}]", end(8, 4)?, end(24, 6)?).into_bytes())
}

fn unix_kind(number: u16) -> &'static str {
    match number {
        1 => "UNIX-STREAM",
        2 => "UNIX-DGRAM",
        _ => "UNIX-SEQPACKET",
    }
}

/// `0100007F:1F90`, or 32 digits before the colon: groups of four bytes in the order of the machine.
fn address(text: &str) -> Option<String> {
    let (host, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let words = host
        .as_bytes()
        .chunks(8)
        .map(|word| u32::from_str_radix(str::from_utf8(word).ok()?, 16).ok());
    let bytes: Vec<u8> = words
        .collect::<Option<Vec<u32>>>()?
        .into_iter()
        .flat_map(u32::to_le_bytes)
        .collect();
    in_text(&bytes, port)
}

/// The 4 or 16 bytes of an address, with the port.
fn in_text(host: &[u8], port: u16) -> Option<String> {
    let v4 = <[u8; 4]>::try_from(host).ok();
    let v6 = <[u8; 16]>::try_from(host).ok();
    match (v4, v6) {
        (Some(host), _) => Some(format!("{}:{port}", std::net::Ipv4Addr::from(host))),
        (_, Some(host)) => Some(format!("[{}]:{port}", std::net::Ipv6Addr::from(host))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_the_kernels_tables_are_read() {
        for (text, expected) in [
            ("0100007F:1F90", Some("127.0.0.1:8080")),
            ("00000000000000000000000001000000:0050", Some("[::1]:80")),
            ("0100007F", None),
            ("xyz:12", None),
        ] {
            assert_eq!(address(text).as_deref(), expected);
        }
    }

    #[test]
    fn ends_that_the_programs_record_are_named_as_in_the_tables() {
        let v4 = [u64::from(u32::from_le_bytes([127, 0, 0, 1])), 0];
        let v6 = [0, 1 << 56];
        for (family, kind, ends, expected) in [
            (2, 1, v4, "TCP:[127.0.0.1:8080->127.0.0.1:80]"),
            (10, 2, v6, "UDPv6:[[::1]:8080->[::1]:80]"),
            (1, 1, [0; 2], "UNIX-STREAM:[77]"),
            (16, 3, v4, ""),
        ] {
            let ([one, other], first) = (ends, family | kind << 16 | 8080 << 32 | 80 << 48);
            let name = socket_name(&[first, one, other, one, other, 77, 0, 0]);
            assert_eq!(name.unwrap_or_default(), expected.as_bytes());
        }
    }
}
