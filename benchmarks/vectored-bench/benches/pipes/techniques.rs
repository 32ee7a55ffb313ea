//! The techniques, and the lists that they write.

use std::io::{self, IoSlice, PipeWriter, Write};

use vectored::cost::TargetKind;
use vectored::limits::Limits;
use vectored::{CostModel, Gather, SegmentCursor, write_all};

/// The bytes of a call, for the techniques that write in chunks.
const CHUNK_BYTES: usize = 8 << 10;

/// The gap between two segments. Without the gap, the library would coalesce the segments.
const GAP_BYTES: usize = 48;

/// A way to write a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Technique {
    /// One `writev` for the whole list.
    Writev,
    /// `writev` in calls of at most `CHUNK_BYTES`.
    WritevByChunks,
    /// Copies into a buffer of `CHUNK_BYTES`, and a `write` whenever the buffer is full.
    CopiedByChunks,
    WriteEach,
    /// `Gather` with the default model for pipes.
    Adaptive,
    /// `WritevByChunks` a second time: the A/A control.
    WritevByChunksAgain,
}

/// All techniques with their column names.
pub const TECHNIQUES: [(Technique, &str); 6] = [
    (Technique::Writev, "writev"),
    (Technique::WritevByChunks, "writev/8K"),
    (Technique::CopiedByChunks, "copied/8K"),
    (Technique::WriteEach, "each"),
    (Technique::Adaptive, "adaptive"),
    (Technique::WritevByChunksAgain, "A/A"),
];

/// A list of segments of one size, not adjacent in memory.
pub struct List {
    memory: Vec<u8>,
    segment_bytes: usize,
}

impl List {
    pub fn new(count: usize, segment_bytes: usize) -> List {
        let memory = (0..count * (segment_bytes + GAP_BYTES)).map(|i| (i % 251) as u8);
        List {
            memory: memory.collect(),
            segment_bytes,
        }
    }

    pub fn segments(&self) -> Vec<IoSlice<'_>> {
        let slots = self.memory.chunks(self.segment_bytes + GAP_BYTES);
        slots
            .map(|slot| IoSlice::new(&slot[..self.segment_bytes]))
            .collect()
    }
}

/// Writes lists by one technique. Owns the memory for that.
pub struct Mover {
    technique: Technique,
    gather: Gather,
    buffer: Vec<u8>,
}

impl Mover {
    pub fn new(technique: Technique) -> Mover {
        Mover {
            technique,
            gather: Gather::with_model(CostModel::for_target(TargetKind::Pipe)),
            buffer: Vec::with_capacity(CHUNK_BYTES),
        }
    }

    pub fn write(&mut self, pipe: &mut PipeWriter, segments: &[IoSlice<'_>]) -> io::Result<()> {
        match self.technique {
            Technique::Writev => {
                write_all(&*pipe, segments)?;
            }
            Technique::WritevByChunks | Technique::WritevByChunksAgain => {
                writev_in_chunks(pipe, segments)?;
            }
            Technique::CopiedByChunks => write_copied_in_chunks(pipe, segments, &mut self.buffer)?,
            Technique::WriteEach => {
                for segment in segments {
                    pipe.write_all(segment)?;
                }
            }
            Technique::Adaptive => {
                self.gather.write_all(&*pipe, segments)?;
            }
        }
        Ok(())
    }
}

fn writev_in_chunks(pipe: &mut PipeWriter, segments: &[IoSlice<'_>]) -> io::Result<()> {
    let limits = Limits {
        bytes: CHUNK_BYTES,
        ..Limits::default()
    };
    let (mut cursor, mut scratch) = (SegmentCursor::new(), Vec::new());
    while cursor.segment() < segments.len() {
        let batch = cursor.batch(segments, limits, &mut scratch);
        let written = pipe.write_vectored(batch)?;
        cursor.advance(segments, written);
    }
    Ok(())
}

fn write_copied_in_chunks(
    pipe: &mut PipeWriter,
    segments: &[IoSlice<'_>],
    buffer: &mut Vec<u8>,
) -> io::Result<()> {
    buffer.clear();
    for segment in segments {
        let mut rest = &segment[..];
        while !rest.is_empty() {
            let (part, behind) = rest.split_at(rest.len().min(CHUNK_BYTES - buffer.len()));
            buffer.extend_from_slice(part);
            rest = behind;
            if buffer.len() == CHUNK_BYTES {
                pipe.write_all(buffer)?;
                buffer.clear();
            }
        }
    }
    pipe.write_all(buffer)
}
