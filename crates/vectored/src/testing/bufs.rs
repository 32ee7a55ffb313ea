//! For the unit tests of `bytes::Buf`: trees of buffers, some of which skip data when asked for slices.

use std::collections::VecDeque;
use std::io::{self, IoSlice};

use bytes::buf::{Chain, Take};
use bytes::{Buf, Bytes};
use proptest::prelude::*;

use crate::error::TransferError;
use crate::sys::limits::Limits;
use crate::testing::{Answer, ScriptedSink};

/// A buffer of several chunks.
#[derive(Clone, Debug)]
pub(crate) struct Rope {
    chunks: VecDeque<Bytes>,
    shows: Shows,
}

/// The slices that a `Rope` gives by `chunks_vectored`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shows {
    /// Every chunk, as many as fit the array.
    All,
    /// The first chunk only, as the default method does. A `Chain` puts its second half right after it.
    First,
    /// Every chunk, in two halves, with an empty slice before each.
    Halves,
    /// All but the first, which breaks the contract.
    AllButFirst,
    /// The first over and over, which breaks the contract.
    FirstAgain,
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
        let mut shown: Vec<&[u8]> = self.chunks.iter().map(|chunk| &chunk[..]).collect();
        match self.shows {
            Shows::All => {}
            Shows::First => shown.truncate(1),
            Shows::Halves => {
                let halves = shown.iter().map(|chunk| chunk.split_at(chunk.len() / 2));
                shown = halves.flat_map(|(a, b)| [&[], a, &[], b]).collect();
            }
            Shows::AllButFirst => drop(shown.drain(..shown.len().min(1))),
            Shows::FirstAgain => shown = shown.iter().map(|_| shown[0]).collect(),
        }
        let count = shown.len().min(to.len());
        for (to, shown) in to.iter_mut().zip(shown) {
            *to = IoSlice::new(shown);
        }
        count
    }
}

/// A tree of the buffers of `bytes`, and of ropes.
#[derive(Debug)]
pub(crate) enum Tree {
    Bytes(Bytes),
    Cursor(io::Cursor<Bytes>),
    /// A deque copies its bytes when it is cloned.
    Deque(VecDeque<u8>),
    Rope(Rope),
    Chain(Box<Chain<Tree, Tree>>),
    Take(Box<Take<Tree>>),
}

/// `Chain` and `Take` do not implement `Clone`, but give access to their parts.
impl Clone for Tree {
    fn clone(&self) -> Tree {
        match self {
            Tree::Bytes(bytes) => Tree::Bytes(bytes.clone()),
            Tree::Cursor(cursor) => Tree::Cursor(cursor.clone()),
            Tree::Deque(deque) => Tree::Deque(deque.clone()),
            Tree::Rope(rope) => Tree::Rope(rope.clone()),
            Tree::Chain(chain) => {
                Tree::chain_of(chain.first_ref().clone(), chain.last_ref().clone())
            }
            Tree::Take(take) => Tree::take_of(take.get_ref().clone(), take.limit()),
        }
    }
}

impl Tree {
    pub(crate) fn rope(chunks: &[Vec<u8>], shows: Shows) -> Tree {
        Tree::Rope(Rope::new(chunks, shows))
    }

    pub(crate) fn chain_of(first: Tree, last: Tree) -> Tree {
        Tree::Chain(Box::new(first.chain(last)))
    }

    pub(crate) fn take_of(tree: Tree, limit: usize) -> Tree {
        Tree::Take(Box::new(tree.take(limit)))
    }

    fn as_buf(&self) -> &dyn Buf {
        match self {
            Tree::Bytes(bytes) => bytes,
            Tree::Cursor(cursor) => cursor,
            Tree::Deque(deque) => deque,
            Tree::Rope(rope) => rope,
            Tree::Chain(chain) => chain,
            Tree::Take(take) => take,
        }
    }
}

impl Buf for Tree {
    fn remaining(&self) -> usize {
        self.as_buf().remaining()
    }

    fn chunk(&self) -> &[u8] {
        self.as_buf().chunk()
    }

    fn advance(&mut self, bytes: usize) {
        match self {
            Tree::Bytes(inner) => inner.advance(bytes),
            Tree::Cursor(inner) => inner.advance(bytes),
            Tree::Deque(inner) => inner.advance(bytes),
            Tree::Rope(inner) => inner.advance(bytes),
            Tree::Chain(inner) => inner.advance(bytes),
            Tree::Take(inner) => inner.advance(bytes),
        }
    }

    fn chunks_vectored<'a>(&'a self, to: &mut [IoSlice<'a>]) -> usize {
        self.as_buf().chunks_vectored(to)
    }
}

/// Every byte of `buf`, as a simple model.
pub(crate) fn all_bytes(buf: &Tree) -> Vec<u8> {
    let mut buf = buf.clone();
    buf.copy_to_bytes(buf.remaining()).to_vec()
}

/// The bytes of the slices that `buf` gives by `chunks_vectored`.
pub(crate) fn bytes_shown(buf: &Tree) -> Vec<u8> {
    let mut slices = [IoSlice::new(&[]); 64];
    let count = buf.chunks_vectored(&mut slices);
    slices[..count]
        .iter()
        .flat_map(|s| s.iter().copied())
        .collect()
}

/// The shape of a tree, without its bytes.
#[derive(Clone, Debug)]
enum Shape {
    Bytes(usize),
    /// Bytes in all, and bytes before the position.
    Cursor(usize, usize),
    /// Bytes in all, and bytes before the memory wraps.
    Deque(usize, usize),
    Rope(Vec<usize>, Shows),
    Chain(Box<Shape>, Box<Shape>),
    Take(Box<Shape>, usize),
}

impl Shape {
    fn build(&self, source: &mut impl Iterator<Item = u8>) -> Tree {
        let mut next = |count| source.take(count).collect::<Vec<u8>>();
        match self {
            Shape::Bytes(len) => Tree::Bytes(next(*len).into()),
            Shape::Cursor(len, position) => {
                let mut cursor = io::Cursor::new(Bytes::from(next(*len)));
                cursor.set_position(*position as u64);
                Tree::Cursor(cursor)
            }
            Shape::Deque(len, before) => {
                let mut deque = VecDeque::with_capacity(*len);
                let bytes = next(*len);
                let before = (*before).min(*len);
                deque.extend(&bytes[before..]);
                for &byte in bytes[..before].iter().rev() {
                    deque.push_front(byte);
                }
                Tree::Deque(deque)
            }
            Shape::Rope(sizes, shows) => {
                let chunks: Vec<_> = sizes.iter().map(|&size| next(size)).collect();
                Tree::rope(&chunks, *shows)
            }
            Shape::Chain(first, last) => {
                let first = first.build(source);
                Tree::chain_of(first, last.build(source))
            }
            Shape::Take(inner, limit) => Tree::take_of(inner.build(source), *limit),
        }
    }
}

/// Trees of any shape, with the byte pattern of `payload`.
pub(crate) fn any_tree() -> impl Strategy<Value = Tree> {
    let size = || prop_oneof![1 => Just(0), 4 => 1..8_usize, 3 => 8..70_usize, 1 => 70..300_usize];
    let shows = prop_oneof![
        4 => Just(Shows::All),
        4 => Just(Shows::First),
        1 => Just(Shows::Halves),
        1 => Just(Shows::AllButFirst),
        1 => Just(Shows::FirstAgain),
    ];
    let leaf = prop_oneof![
        2 => size().prop_map(Shape::Bytes),
        1 => (size(), 0..80_usize).prop_map(|(len, position)| Shape::Cursor(len, position)),
        1 => (size(), 0..80_usize).prop_map(|(len, before)| Shape::Deque(len, before)),
        4 => (prop::collection::vec(size(), 0..8), shows)
            .prop_map(|(sizes, shows)| Shape::Rope(sizes, shows)),
    ];
    let shape = leaf.prop_recursive(5, 24, 2, |inner| {
        let pair = (inner.clone(), inner.clone());
        prop_oneof![
            3 => pair.prop_map(|(a, b)| Shape::Chain(Box::new(a), Box::new(b))),
            1 => (inner, 0..300_usize).prop_map(|(a, limit)| Shape::Take(Box::new(a), limit)),
        ]
    });
    shape.prop_map(|shape| shape.build(&mut (0..251u8).cycle()))
}

/// Calls `transfer` until it succeeds, resuming after every error, and compares the bytes that arrive with `model`.
///
/// `remaining` returns the bytes that a `sender` has left.
pub(crate) fn check_sender<S>(
    model: &[u8],
    mut sender: S,
    (script, limits): (&[Answer], Limits),
    remaining: impl Fn(&S) -> u64,
    mut transfer: impl FnMut(&mut S, &mut ScriptedSink) -> Result<u64, TransferError>,
) -> ScriptedSink {
    let mut sink = ScriptedSink::new(script.to_vec(), limits);
    let mut errors = 0;
    loop {
        let before = sink.taken.len();
        let result = transfer(&mut sender, &mut sink);
        let transferred = match &result {
            Ok(bytes) => *bytes,
            Err(error) => error.transferred(),
        };
        assert_eq!(transferred, (sink.taken.len() - before) as u64);
        assert_eq!(sink.taken, model[..sink.taken.len()]);
        assert_eq!(remaining(&sender), (model.len() - sink.taken.len()) as u64);
        let Err(error) = result else { break };
        errors += 1;
        sink.check_error(&error);
    }
    assert_eq!(sink.taken, model);
    assert_eq!(errors, sink.refusals, "a refusal was ignored");
    assert!(sink.calls <= script.len() + model.len());
    if model.is_empty() {
        assert_eq!(sink.calls, 0, "a system call for no bytes");
    }
    sink
}

/// A `Buf` with bytes remaining but an empty chunk, which breaks the contract.
#[derive(Clone, Debug)]
pub(crate) struct Hollow;

impl Buf for Hollow {
    fn remaining(&self) -> usize {
        3
    }

    fn chunk(&self) -> &[u8] {
        &[]
    }

    fn advance(&mut self, _: usize) {}
}
