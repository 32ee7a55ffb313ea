//! The messages between a rank and its MPI process: see [`RemoteGroup`](super::remote_group::RemoteGroup).

use std::io::{self, Read, Write};

/// A request of the rank.
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

/// Sends a call in the group of this number: the number of the call and that of the group (4 bytes each), and the body as
/// an answer has it.
pub fn send_call(to: &mut impl Write, call: Call, group: u32, body: &[u8]) -> io::Result<()> {
    let place = CALLS.iter().position(|known| *known == call);
    let place = place.expect("every call is listed") as u32;
    let mut message = [place.to_le_bytes(), group.to_le_bytes()].concat();
    append(&mut message, body);
    to.write_all(&message)
}

/// Receives a call, the number of its group and its body.
pub fn receive_call(from: &mut impl Read) -> io::Result<(Call, u32, Vec<u8>)> {
    let mut number = || -> io::Result<u32> {
        let mut word = [0; 4];
        from.read_exact(&mut word)?;
        Ok(u32::from_le_bytes(word))
    };
    let (place, group) = (number()?, number()?);
    let call = CALLS.get(place as usize).copied();
    let call = call.ok_or_else(|| io::Error::other(format!("there is no call {place}")))?;
    Ok((call, group, receive_answer(from)?))
}

/// Sends the answer to a call: its length (8 bytes) and itself.
pub fn send_answer(to: &mut impl Write, body: &[u8]) -> io::Result<()> {
    let mut message = Vec::new();
    append(&mut message, body);
    to.write_all(&message)
}

/// Receives the answer to a call. Both ends run one program, so the length is trusted.
pub fn receive_answer(from: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut length = [0; 8];
    from.read_exact(&mut length)?;
    let mut body = vec![0; u64::from_le_bytes(length) as usize];
    from.read_exact(&mut body)?;
    Ok(body)
}

/// Appends the length of a piece of bytes and the piece.
fn append(bytes: &mut Vec<u8>, piece: &[u8]) {
    bytes.reserve(8 + piece.len());
    bytes.extend((piece.len() as u64).to_le_bytes());
    bytes.extend(piece);
}

/// Several pieces of bytes as one.
pub fn joined(pieces: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for piece in pieces {
        append(&mut bytes, piece);
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
