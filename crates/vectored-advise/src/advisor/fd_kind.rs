//! The kind of file behind a descriptor, from what a log shows of the file.

use vectored_machine::model::DescriptorKind;
use vectored_strace::event::SocketKind;

/// The kind of file behind a descriptor. Kinds are told apart only where the rules for runs differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum FdKind {
    File,
    /// A pipe or FIFO that is not in packet mode.
    Pipe,
    Unix,
    Tcp,
    Socket,
    /// A socket whose calls each send a datagram: listed, never counted.
    Datagram,
    /// A device without a reader or a state: `/dev/null`, `/dev/urandom`.
    Nothing,
    /// Never counted: a terminal, eventfd, `/proc`, a folder, …
    Other,
    #[default]
    Unknown,
}

impl FdKind {
    pub(crate) fn target(self) -> Option<DescriptorKind> {
        match self {
            FdKind::File => Some(DescriptorKind::File),
            FdKind::Pipe => Some(DescriptorKind::Pipe),
            FdKind::Unix => Some(DescriptorKind::Unix),
            FdKind::Tcp => Some(DescriptorKind::Tcp),
            FdKind::Socket | FdKind::Unknown => Some(DescriptorKind::Unknown),
            FdKind::Datagram => Some(DescriptorKind::Datagram),
            FdKind::Nothing | FdKind::Other => None,
        }
    }

    /// Whether another process may be at the other end.
    pub(crate) fn has_peer(self) -> bool {
        matches!(
            self,
            FdKind::Pipe | FdKind::Unix | FdKind::Tcp | FdKind::Socket | FdKind::Unknown
        )
    }

    /// Whether several open file descriptions can lead to the same object: a file, a pipe, a socket.
    pub(crate) fn is_shared_object(self) -> bool {
        matches!(
            self,
            FdKind::File | FdKind::Pipe | FdKind::Unix | FdKind::Tcp | FdKind::Socket
        )
    }

    pub(crate) fn is_socket(self) -> bool {
        matches!(self, FdKind::Unix | FdKind::Tcp | FdKind::Socket)
    }
}

pub(crate) fn kind_of_text(text: &[u8]) -> FdKind {
    if text.first() == Some(&b'/') {
        let contains = |part: &[u8]| text.windows(part.len()).any(|window| window == part);
        let is_device = contains(b"<char ") || contains(b"<block ");
        return if is_device && !is_nothing(text) { FdKind::Other } else { kind_of_path(text) };
    }
    let kind = match text.split(|&byte| byte == b'[').next() {
        Some(b"pipe:") => FdKind::Pipe,
        Some(b"TCP:" | b"TCPv6:") => FdKind::Tcp,
        Some(b"UNIX-STREAM:") => FdKind::Unix,
        Some(b"socket:" | b"UNIX:") => FdKind::Socket,
        Some(b"UDP:" | b"UDPv6:" | b"UNIX-DGRAM:") => FdKind::Datagram,
        // NETLINK, UNIX-SEQPACKET, anon_inode:[eventpoll] …
        _ => FdKind::Other,
    };
    if text.is_empty() { FdKind::Unknown } else { kind }
}

pub(crate) fn kind_of_path(path: &[u8]) -> FdKind {
    let below = |folder: &[u8]| path.starts_with(folder);
    if below(b"/dev/shm/") {
        FdKind::File
    } else if is_nothing(path) {
        FdKind::Nothing
    } else if below(b"/dev/") || below(b"/proc/") || below(b"/sys/") {
        FdKind::Other
    } else {
        FdKind::File
    }
}

pub(crate) fn kind_of_socket(kind: SocketKind) -> FdKind {
    match kind {
        SocketKind::Pipe => FdKind::Pipe,
        SocketKind::UnixStream => FdKind::Unix,
        SocketKind::Tcp => FdKind::Tcp,
        SocketKind::Datagram => FdKind::Datagram,
        _ => FdKind::Other,
    }
}

fn is_nothing(path: &[u8]) -> bool {
    let device = path.split(|&byte| byte == b'<').next();
    matches!(
        device,
        Some(b"/dev/null" | b"/dev/zero" | b"/dev/urandom" | b"/dev/random")
    )
}
