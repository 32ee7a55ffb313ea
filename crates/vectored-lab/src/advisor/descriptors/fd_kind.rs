//! What a descriptor leads to, from the texts of a log.

use crate::model::Leads;
use vectored_strace::event::SocketKind;

/// What a descriptor leads to, as far as runs of calls differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A regular file.
    File,
    /// A pipe or FIFO that is not in packet mode.
    Pipe,
    /// A local stream socket.
    Unix,
    /// A TCP socket.
    Tcp,
    /// A socket, but nothing says of which kind.
    Socket,
    /// A socket whose calls each send a datagram: listed, never counted.
    Datagram,
    /// What nobody waits for and nobody observes: `/dev/null`, `/dev/urandom`.
    Nothing,
    /// Never counted: a terminal, eventfd, `/proc`, a datagram socket, a folder …
    Other,
    /// Nothing is known.
    Unknown,
}

impl Kind {
    /// As findings name it; `None` where none can be.
    pub(crate) fn target(self) -> Option<Leads> {
        match self {
            Kind::File => Some(Leads::File),
            Kind::Pipe => Some(Leads::Pipe),
            Kind::Unix => Some(Leads::Unix),
            Kind::Tcp => Some(Leads::Tcp),
            Kind::Socket | Kind::Unknown => Some(Leads::Unknown),
            Kind::Datagram => Some(Leads::Datagram),
            Kind::Nothing | Kind::Other => None,
        }
    }

    /// Whether others may be at its other end.
    pub(crate) fn has_peer(self) -> bool {
        matches!(
            self,
            Kind::Pipe | Kind::Unix | Kind::Tcp | Kind::Socket | Kind::Unknown
        )
    }

    /// Whether reads and writes of several openings meet in one object: a file, a pipe, a socket.
    pub(crate) fn is_shared_object(self) -> bool {
        matches!(
            self,
            Kind::File | Kind::Pipe | Kind::Unix | Kind::Tcp | Kind::Socket
        )
    }

    /// Whether it is a stream socket, as far as is known.
    pub(crate) fn is_socket(self) -> bool {
        matches!(self, Kind::Unix | Kind::Tcp | Kind::Socket)
    }
}

/// From what `-y` or `-yy` shows.
pub(crate) fn kind_of_text(text: &[u8]) -> Kind {
    let starts = |with: &[u8]| text.starts_with(with);
    if text.first() == Some(&b'/') {
        return match contains(text, b"<char ") || contains(text, b"<block ") {
            true if is_nothing(text) => Kind::Nothing,
            true => Kind::Other,
            false => kind_of_path(text),
        };
    }
    if starts(b"pipe:[") {
        Kind::Pipe
    } else if starts(b"TCP:[") || starts(b"TCPv6:[") {
        Kind::Tcp
    } else if starts(b"UNIX-STREAM:[") {
        Kind::Unix
    } else if starts(b"socket:[") || starts(b"UNIX:[") {
        Kind::Socket
    } else if starts(b"UDP:[") || starts(b"UDPv6:[") || starts(b"UNIX-DGRAM:[") {
        Kind::Datagram
    } else if text.is_empty() {
        Kind::Unknown
    } else {
        // NETLINK, UNIX-SEQPACKET, anon_inode:[eventpoll] …
        Kind::Other
    }
}

/// From the path that was opened.
pub(crate) fn kind_of_path(path: &[u8]) -> Kind {
    let below = |folder: &[u8]| path.starts_with(folder);
    if below(b"/dev/shm/") {
        Kind::File
    } else if is_nothing(path) {
        Kind::Nothing
    } else if below(b"/dev/") || below(b"/proc/") || below(b"/sys/") {
        Kind::Other
    } else {
        Kind::File
    }
}

/// From `socket` or `socketpair`.
pub(crate) fn kind_of_socket(kind: SocketKind) -> Kind {
    match kind {
        SocketKind::UnixStream => Kind::Unix,
        SocketKind::Tcp => Kind::Tcp,
        SocketKind::Datagram => Kind::Datagram,
        SocketKind::Other => Kind::Other,
    }
}

fn is_nothing(path: &[u8]) -> bool {
    let device = path.split(|&byte| byte == b'<').next();
    matches!(
        device,
        Some(b"/dev/null" | b"/dev/zero" | b"/dev/urandom" | b"/dev/random")
    )
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}
