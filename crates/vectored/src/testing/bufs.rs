//! For the unit tests of `bytes::Buf`: trees of buffers, some of which skip data when asked for slices.

use std::collections::VecDeque;
use std::fmt;
use std::io::IoSlice;

use bytes::{Buf, Bytes};
use proptest::prelude::*;

/// A buffer of several chunks.
#[derive(Clone, Debug)]
pub(crate) struct Rope {
    chunks: VecDeque<Bytes>,
    shows: Shows,
}

/// The slices that a `Rope` gives by `chunks_vectored`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shows {
    /// Every chunk, as many as fit the array.
    All,
    /// The first chunk only, as the default method does. A `Chain` puts its second half right after it.
    First,
    /// All but the first, which breaks the contract.
    AllButFirst,
}

impl Rope {
    pub(crate) fn new(chunks: &[Vec<u8>], shows: Shows) -> Rope {
        let chunks = chunks.iter().filter(|chunk| !chunk.is_empty());
        Rope {
            chunks: chunks.map(|chunk| Bytes::from(chunk.clone())).collect(),
            shows,
        }
    }
}

impl Buf for Rope {
    fn remaining(&self) -> usize {
        self.chunks.iter().map(Bytes::len).sum()
    }

    fn chunk(&self) -> &[u8] {
        self.chunks.front().map_or(&[], |chunk| chunk)
    }

    fn advance(&mut self, mut bytes: usize) {
        while bytes > 0 {
            let first = self.chunks.front_mut().expect("advance beyond the end");
            let here = bytes.min(first.len());
            first.advance(here);
            bytes -= here;
            if first.is_empty() {
                self.chunks.pop_front();
            }
        }
    }

    fn chunks_vectored<'a>(&'a self, to: &mut [IoSlice<'a>]) -> usize {
        let (skipped, most) = match self.shows {
            Shows::All => (0, usize::MAX),
            Shows::First => (0, 1),
            Shows::AllButFirst => (1, usize::MAX),
        };
        let shown = self.chunks.iter().skip(skipped).take(most);
        let pairs = to.iter_mut().zip(shown);
        pairs.map(|(to, chunk)| *to = IoSlice::new(chunk)).count()
    }
}

/// A tree of `Chain`, `Take` and `Rope`, and the bytes that it holds.
pub(crate) struct Tree {
    pub(crate) buf: Box<dyn Buf>,
    pub(crate) bytes: Vec<u8>,
}

impl fmt::Debug for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a tree of {} bytes", self.bytes.len())
    }
}

/// The shape of a tree, without its bytes.
#[derive(Clone, Debug)]
pub(crate) enum Shape {
    Rope(Vec<usize>, Shows),
    Chain(Box<Shape>, Box<Shape>),
    Take(Box<Shape>, usize),
}

impl Shape {
    pub(crate) fn build(&self, source: &mut impl Iterator<Item = u8>) -> Tree {
        match self {
            Shape::Rope(sizes, shows) => {
                let chunks: Vec<Vec<u8>> = sizes
                    .iter()
                    .map(|&size| source.take(size).collect())
                    .collect();
                Tree {
                    buf: Box::new(Rope::new(&chunks, *shows)),
                    bytes: chunks.concat(),
                }
            }
            Shape::Chain(first, last) => {
                let (first, last) = (first.build(source), last.build(source));
                Tree {
                    buf: Box::new(first.buf.chain(last.buf)),
                    bytes: [first.bytes, last.bytes].concat(),
                }
            }
            Shape::Take(inner, limit) => {
                let mut inner = inner.build(source);
                inner.bytes.truncate(*limit);
                Tree {
                    buf: Box::new(inner.buf.take(*limit)),
                    bytes: inner.bytes,
                }
            }
        }
    }
}

pub(crate) fn any_shape() -> impl Strategy<Value = Shape> {
    let size = prop_oneof![1 => Just(0), 4 => 1..8_usize, 3 => 8..70_usize, 1 => 70..300_usize];
    let shows = prop_oneof![
        Just(Shows::All),
        Just(Shows::First),
        Just(Shows::AllButFirst)
    ];
    let rope = (prop::collection::vec(size, 0..8), shows);
    let leaf = rope.prop_map(|(sizes, shows)| Shape::Rope(sizes, shows));
    leaf.prop_recursive(5, 24, 2, |inner| {
        let pair = (inner.clone(), inner.clone());
        prop_oneof![
            3 => pair.prop_map(|(a, b)| Shape::Chain(Box::new(a), Box::new(b))),
            1 => (inner, 0..300_usize).prop_map(|(a, limit)| Shape::Take(Box::new(a), limit)),
        ]
    })
}
