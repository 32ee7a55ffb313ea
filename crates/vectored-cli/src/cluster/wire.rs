//! What a rank and its MPI process say to each other: see [`RemoteGroup`](super::remote_group::RemoteGroup).

use std::io::{self, Read, Write};

/// What the rank asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    Broadcast,
    Barrier,
    Largest,
    Gather,
    Rest,
    First,
    PinnedTo,
    /// The rank has panicked: end all ranks.
    Abort,
    /// The rank needs no others any more.
    End,
}

const CALLS: [Call; 9] = [
    Call::Broadcast,
    Call::Barrier,
    Call::Largest,
    Call::Gather,
    Call::Rest,
    Call::First,
    Call::PinnedTo,
    Call::Abort,
    Call::End,
];

/// A call has a head of 16 bytes: its number and that of its group (4 bytes each), and the length of its body (8). An answer
/// has the length alone.
const HEAD_BYTES: usize = 16;
const LENGTH_BYTES: usize = 8;

/// Sends a call in the group of this number.
pub fn send_call(to: &mut impl Write, call: Call, group: u32, body: &[u8]) -> io::Result<()> {
    let place = CALLS.iter().position(|known| *known == call);
    let place = place.expect("every call is listed") as u32;
    let mut message = Vec::with_capacity(HEAD_BYTES + body.len());
    message.extend(place.to_le_bytes());
    message.extend(group.to_le_bytes());
    message.extend((body.len() as u64).to_le_bytes());
    message.extend(body);
    to.write_all(&message)
}

/// Receives a call, the number of its group and its body.
pub fn receive_call(from: &mut impl Read) -> io::Result<(Call, u32, Vec<u8>)> {
    let mut head = [0; HEAD_BYTES];
    from.read_exact(&mut head)?;
    let word = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().expect("four bytes"));
    let call = CALLS.get(word(0) as usize).copied();
    let call = call.ok_or_else(|| io::Error::other(format!("there is no call {}", word(0))))?;
    let length = u64::from_le_bytes(head[8..].try_into().expect("eight bytes"));
    Ok((call, word(4), body(from, length)?))
}

/// Sends the answer to a call.
pub fn send_answer(to: &mut impl Write, body: &[u8]) -> io::Result<()> {
    let mut message = Vec::with_capacity(LENGTH_BYTES + body.len());
    message.extend((body.len() as u64).to_le_bytes());
    message.extend(body);
    to.write_all(&message)
}

/// Receives the answer to a call.
pub fn receive_answer(from: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut length = [0; LENGTH_BYTES];
    from.read_exact(&mut length)?;
    body(from, u64::from_le_bytes(length))
}

/// Both ends run one program, so the length is trusted.
fn body(from: &mut impl Read, length: u64) -> io::Result<Vec<u8>> {
    let mut body = vec![0; length as usize];
    from.read_exact(&mut body)?;
    Ok(body)
}

/// Several pieces of bytes as one.
pub fn joined(pieces: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for piece in pieces {
        bytes.extend((piece.len() as u64).to_le_bytes());
        bytes.extend(piece);
    }
    bytes
}

/// The pieces that [`joined`] joined.
pub fn split(mut bytes: &[u8]) -> io::Result<Vec<Vec<u8>>> {
    let mut pieces = Vec::new();
    while !bytes.is_empty() {
        let piece = receive_answer(&mut bytes);
        // The end of these bytes is not that of the connection.
        let unreadable = |error| io::Error::new(io::ErrorKind::InvalidData, error);
        pieces.push(piece.map_err(unreadable)?);
    }
    Ok(pieces)
}

/// Numbers as bytes.
pub fn bytes_of(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// The numbers that [`bytes_of`] has made bytes of.
pub fn words_of(bytes: &[u8]) -> Vec<u64> {
    let (words, _) = bytes.as_chunks::<8>();
    words.iter().map(|word| u64::from_le_bytes(*word)).collect()
}
