//! Names of sockets, as `strace -yy` shows them.

use std::collections::HashMap;
use std::fs;
use std::net::{Ipv4Addr, Ipv6Addr};

use crate::record::Slot;

/// The names of the sockets in the network namespace of a process, by `socket:[inode]`.
pub(crate) fn sockets_of(process: u32) -> HashMap<Vec<u8>, Vec<u8>> {
    let mut all = HashMap::new();
    let mut add = |inode: &str, name: String| {
        all.insert(format!("socket:[{inode}]").into_bytes(), name.into_bytes());
    };
    let lines = |table: &str| -> Vec<String> {
        let text = fs::read_to_string(format!("/proc/{process}/net/{table}")).unwrap_or_default();
        text.lines().skip(1).map(str::to_owned).collect()
    };
    for (table, kind) in KINDS {
        for line in lines(table) {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [_, local, peer, state, _, _, _, _, _, inode, ..] = words[..] else {
                continue;
            };
            match (address(local), address(peer)) {
                // A listening socket.
                (Some(local), _) if state == "0A" => add(inode, format!("{kind}:[{local}]")),
                (Some(local), Some(peer)) => add(inode, format!("{kind}:[{local}->{peer}]")),
                _ => {}
            }
        }
    }
    for line in lines("unix") {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let [_, _, _, _, kind, _, inode, ..] = words[..] {
            let kind = unix_kind(kind.parse().unwrap_or(0));
            add(inode, format!("{kind}:[{inode}]"));
        }
    }
    all
}

/// The kernel's tables of sockets, and the names that strace gives to their kinds.
const KINDS: [(&str, &str); 4] = [
    ("tcp", "TCP"),
    ("tcp6", "TCPv6"),
    ("udp", "UDP"),
    ("udp6", "UDPv6"),
];

/// The name of a socket whose ends `bpf/live.bpf.c` recorded.
pub(crate) fn socket_name(ends: &Slot) -> Option<Vec<u8>> {
    let bytes: Vec<u8> = ends.iter().flat_map(|word| word.to_le_bytes()).collect();
    let half = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
    let (is_v6, size) = match i32::from(half(0)) {
        libc::AF_UNIX => {
            return Some(format!("{}:[{}]", unix_kind(half(2)), ends[5]).into_bytes());
        }
        libc::AF_INET => (false, 4),
        libc::AF_INET6 => (true, 16),
        _ => return None,
    };
    let (_, kind) = KINDS[2 * usize::from(half(2) == 2) + usize::from(is_v6)];
    let end = |host: usize, port: usize| in_text(&bytes[host..host + size], half(port));
    Some(format!("{kind}:[{}->{}]", end(8, 4)?, end(24, 6)?).into_bytes())
}

fn unix_kind(number: u16) -> &'static str {
    match number {
        1 => "UNIX-STREAM",
        2 => "UNIX-DGRAM",
        _ => "UNIX-SEQPACKET",
    }
}

/// Reads `0100007F:1F90`, or an address of 32 digits in groups of four bytes, in the byte order of the machine.
fn address(text: &str) -> Option<String> {
    let (host, port) = text.split_once(':')?;
    let word = |word: &[u8]| {
        let word = u32::from_str_radix(str::from_utf8(word).ok()?, 16).ok()?;
        Some(word.to_le_bytes())
    };
    let words: Option<Vec<[u8; 4]>> = host.as_bytes().chunks(8).map(word).collect();
    in_text(words?.as_flattened(), u16::from_str_radix(port, 16).ok()?)
}

fn in_text(host: &[u8], port: u16) -> Option<String> {
    let v4 = <[u8; 4]>::try_from(host).map(|host| format!("{}:{port}", Ipv4Addr::from(host)));
    let v6 = || <[u8; 16]>::try_from(host).map(|host| format!("[{}]:{port}", Ipv6Addr::from(host)));
    v4.or_else(|_| v6()).ok()
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream, UdpSocket};
    use std::os::fd::AsRawFd;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn open_sockets_are_named() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(server.local_addr().unwrap()).unwrap();
        let udp = UdpSocket::bind("[::1]:0").unwrap();
        let (unix, _peer) = UnixStream::pair().unwrap();
        let all = sockets_of(std::process::id());
        let name = |socket: &dyn AsRawFd| {
            let link = fs::read_link(format!("/proc/self/fd/{}", socket.as_raw_fd())).unwrap();
            String::from_utf8(all[link.as_os_str().as_bytes()].clone()).unwrap()
        };
        let [listens, own, of_udp] =
            [server.local_addr(), client.local_addr(), udp.local_addr()].map(Result::unwrap);
        assert_eq!(name(&server), format!("TCP:[{listens}]"));
        assert_eq!(name(&client), format!("TCP:[{own}->{listens}]"));
        assert_eq!(name(&udp), format!("UDPv6:[{of_udp}->[::]:0]"));
        assert!(name(&unix).starts_with("UNIX-STREAM:["));
    }

    #[test]
    fn ends_that_the_programs_record_are_named_as_in_the_tables() {
        let v4 = [u64::from(u32::from_le_bytes([127, 0, 0, 1])), 0];
        for (family, kind, ends, expected) in [
            (2, 1, v4, "TCP:[127.0.0.1:8080->127.0.0.1:80]"),
            (10, 2, [0, 1 << 56], "UDPv6:[[::1]:8080->[::1]:80]"),
            (1, 1, [0; 2], "UNIX-STREAM:[77]"),
            (16, 3, v4, ""),
        ] {
            let ([one, other], first) = (ends, family | kind << 16 | 8080 << 32 | 80 << 48);
            let name = socket_name(&[first, one, other, one, other, 77, 0, 0]);
            assert_eq!(name.unwrap_or_default(), expected.as_bytes());
        }
    }
}
