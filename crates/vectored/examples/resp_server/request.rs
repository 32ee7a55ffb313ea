//! Reads requests, such as `*2\r\n$3\r\nGET\r\n$1\r\nk\r\n`.

use std::io::{self, Error};

use bytes::Bytes;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt};

/// Reads the words of the next request. Each word has its own memory, so a stored value keeps no other word in memory.
pub async fn read_request(reader: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Vec<Bytes>> {
    let mut words = Vec::new();
    for _ in 0..read_number(reader).await? {
        let mut word = vec![0; read_number(reader).await?];
        reader.read_exact(&mut word).await?;
        reader.read_exact(&mut [0; 2]).await?; // the end of the line
        words.push(Bytes::from(word));
    }
    Ok(words)
}

/// Reads a line such as `*2` or `$3`, and returns the number.
async fn read_number(reader: &mut (impl AsyncBufRead + Unpin)) -> io::Result<usize> {
    let mut line = String::new();
    reader.take(20).read_line(&mut line).await?;
    let digits = line.trim_start_matches(['*', '$']).trim_end();
    let number: u32 = digits.parse().map_err(Error::other)?;
    Ok(number as usize)
}
