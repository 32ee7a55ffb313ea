use super::*;
use crate::CostModel;
use crate::Limits;
use crate::sys::codes;
use crate::testing::bufs::{
    Hollow, Rope, Shows, Tree, all_bytes, any_tree, bytes_shown, check_sender,
};
use crate::testing::{Answer, ScriptedSink, any_limits, any_script, payload};
use bytes::Bytes;
use proptest::prelude::*;
use std::cell::Cell;
use std::rc::Rc;

/// A `Gather` with the default model.
fn within(limits: Limits) -> Gather {
    Gather::within(limits, CostModel::default())
}

const LIMITS: Limits = Limits {
    segments: 1024,
    bytes: 1 << 20,
};

/// Takes the tree by value, since a clone need not have the same chunks.
fn check(gather: &mut Gather, tree: Tree, script: &[Answer]) -> ScriptedSink {
    let limits = gather.limits();
    let remaining = |tree: &Tree| tree.remaining() as u64;
    let model = all_bytes(&tree);
    check_sender(&model, tree, (script, limits), remaining, |tree, sink| {
        gather.send_buf(tree, || Ok(()), |slices| sink.call(slices))
    })
}

fn calls_of(tree: Tree) -> usize {
    check(&mut within(LIMITS), tree, &[]).calls
}

proptest! {
    #[test]
    fn any_buf_arrives_whole_in_order_and_counted(
        trees in prop::collection::vec((any_tree(), any_script()), 1..4),
        staging_bytes in prop_oneof![Just(0), 1..300_usize],
        limits in any_limits(),
    ) {
        // One `Gather` for several: no byte of one may reach the next.
        let model = CostModel { staging_bytes, ..CostModel::default() };
        let mut gather = Gather::within(limits, model);
        for (tree, script) in trees {
            check(&mut gather, tree, &script);
        }
    }
}

/// <https://github.com/tokio-rs/bytes/issues/701>
#[test]
fn slices_that_skip_data_are_not_used() {
    let data = payload(&[5, 7, 9, 5, 7]);
    let skipping = |shows| Tree::rope(&data[..2], shows);
    let tail = || Tree::rope(&data[2..], Shows::All);
    for shows in [Shows::First, Shows::AllButFirst, Shows::FirstAgain] {
        let chain = Tree::chain_of(skipping(shows), tail());
        assert!(!all_bytes(&chain).starts_with(&bytes_shown(&chain)));
        check(&mut within(LIMITS), chain.clone(), &[]);
        let nested = Tree::chain_of(chain, tail());
        check(&mut within(LIMITS), nested, &[]);
    }
    // Here the total and the first slice are right: 5 + 9 + 5 of 19 bytes.
    let chain = Tree::chain_of(skipping(Shows::First), tail());
    let take = Tree::take_of(chain, 19);
    let shown = bytes_shown(&take);
    assert_eq!(shown.len(), take.remaining());
    assert_eq!(shown[..5], data[0]);
    assert_ne!(shown, all_bytes(&take));
    check(&mut within(LIMITS), take, &[]);
}

#[test]
fn chunks_that_are_checked_go_in_one_call() {
    // Too large to be copied together: each takes an entry of its own.
    for count in [1, 63, 64, 65, 1023, 1024, 1025, 3000] {
        let data = payload(&vec![2000; count]);
        let limits = Limits {
            bytes: 1 << 30,
            ..LIMITS
        };
        // A chunk in two halves, and with two empty slices, takes the room of four.
        for (shows, slices) in [(Shows::All, count), (Shows::Halves, 4 * count)] {
            let rope = Tree::rope(&data, shows);
            let sink = check(&mut within(limits), rope, &[]);
            assert_eq!(sink.calls, slices.div_ceil(1024), "{count}, {shows:?}");
        }
    }
}

#[test]
fn small_chunks_are_copied_into_one_entry() {
    let rope = Tree::rope(&payload(&[10; 500]), Shows::All);
    let mut entries = Vec::new();
    let result = within(LIMITS).send_buf(
        &mut rope.clone(),
        || Ok(()),
        |slices| {
            entries.push(slices.len());
            Ok(slices.iter().map(|slice| slice.len()).sum())
        },
    );
    assert_eq!(result.unwrap(), 5000);
    assert_eq!(entries, [1]);
}

#[test]
fn a_chain_of_shared_bytes_goes_in_one_call() {
    let [a, b, c] = [2000, 10, 3000].map(|size| Tree::Bytes(vec![7; size].into()));
    assert_eq!(calls_of(Tree::chain_of(a, Tree::chain_of(b, c))), 1);
}

#[test]
fn a_clone_that_copies_confirms_no_slice_and_loses_no_byte() {
    let mut deque = std::collections::VecDeque::with_capacity(64);
    deque.extend(0..10);
    (10..20).for_each(|byte| deque.push_front(byte));
    assert!(!deque.as_slices().1.is_empty(), "the deque must wrap");
    assert_eq!(calls_of(Tree::Deque(deque)), 2);
}

#[test]
fn a_clone_that_copies_is_made_once_a_call() {
    struct Copied(Rope, Rc<Cell<usize>>);
    impl Clone for Copied {
        fn clone(&self) -> Copied {
            self.1.set(self.1.get() + 1);
            Copied(self.0.copied(), Rc::clone(&self.1))
        }
    }
    impl Buf for Copied {
        fn remaining(&self) -> usize {
            self.0.remaining()
        }
        fn chunk(&self) -> &[u8] {
            self.0.chunk()
        }
        fn chunks_vectored<'a>(&'a self, to: &mut [IoSlice<'a>]) -> usize {
            self.0.chunks_vectored(to)
        }
        fn advance(&mut self, bytes: usize) {
            self.0.advance(bytes);
        }
    }
    let clones = Rc::new(Cell::new(0));
    let rope = Rope::new(&payload(&[10; 20]), Shows::All);
    let mut calls = 0;
    let result = within(LIMITS).send_buf(
        &mut Copied(rope, Rc::clone(&clones)),
        || Ok(()),
        |slices| {
            calls += 1;
            Ok(slices.iter().map(|slice| slice.len()).sum())
        },
    );
    assert_eq!((result.unwrap(), calls, clones.get()), (200, 20, 1));
}

#[test]
fn a_buffer_of_one_chunk_is_never_cloned() {
    #[derive(Debug)]
    struct Dear(Bytes);
    impl Clone for Dear {
        fn clone(&self) -> Dear {
            panic!("it was cloned")
        }
    }
    impl Buf for Dear {
        fn remaining(&self) -> usize {
            self.0.remaining()
        }
        fn chunk(&self) -> &[u8] {
            self.0.chunk()
        }
        fn advance(&mut self, bytes: usize) {
            self.0.advance(bytes);
        }
    }
    let mut dear = Dear(Bytes::from_static(b"abc"));
    let result = within(LIMITS).send_buf(&mut dear, || Ok(()), |slices| Ok(slices[0].len().min(2)));
    assert_eq!(result.unwrap(), 3);
}

#[test]
fn an_error_at_any_point_of_a_buf_leaves_it_where_it_was() {
    let data = payload(&[2, 3, 8, 1, 3, 5]);
    for shows in [Shows::All, Shows::First] {
        let rope = Tree::rope(&data[..3], shows);
        let tree = Tree::chain_of(rope, Tree::rope(&data[3..], shows));
        for before in 0..22 {
            for code in [codes::EAGAIN, codes::EIO, codes::ENOSPC, codes::EPIPE] {
                let mut script = vec![Answer::Take(1); before];
                script.push(Answer::Fail(code));
                check(&mut within(LIMITS), tree.clone(), &script);
            }
        }
    }
}

#[test]
fn only_a_buf_that_is_one_whole_call_goes_to_a_descriptor_of_messages() {
    let send = |tree: &Tree, script: &[Answer], limits| {
        let mut sink = ScriptedSink::new(script.to_vec(), limits);
        let mut tree = tree.clone();
        let left = tree.remaining();
        let refuse = || Err(io::ErrorKind::InvalidInput.into());
        let mut gather = within(limits);
        let result = gather.send_buf(&mut tree, refuse, |slices| sink.call(slices));
        assert_eq!(left - tree.remaining(), sink.taken.len());
        let result = result.map_err(|error| {
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
            error.transferred()
        });
        (result, sink.calls)
    };
    let three = Limits {
        segments: 3,
        bytes: 10_000,
    };
    let data = payload(&[1000, 2000, 3000, 4000]);
    let rope = |count| Tree::rope(&data[..count], Shows::All);
    assert_eq!(send(&rope(3), &[], three), (Ok(6000), 1));
    // More chunks than a call takes; more bytes.
    assert_eq!(send(&rope(4), &[], three), (Err(0), 0));
    let bytes = Limits {
        bytes: 5999,
        ..three
    };
    assert_eq!(send(&rope(3), &[], bytes), (Err(0), 0));
    // Chunks that `chunks_vectored` does not show.
    let skipping = Tree::rope(&data[..3], Shows::First);
    assert_eq!(send(&skipping, &[], three), (Err(0), 0));
    // An empty message would be dropped.
    assert_eq!(send(&rope(0), &[], three), (Err(0), 0));
    // A message of which a part was sent.
    assert_eq!(send(&rope(3), &[Answer::Take(1)], three), (Err(1), 1));
}

#[test]
fn whether_a_buf_may_be_split_is_asked_once() {
    let limits = Limits {
        segments: 2,
        bytes: 7,
    };
    let mut rope = Rope::new(&payload(&[3; 20]), Shows::All);
    let mut asked = 0;
    let ask = || {
        asked += 1;
        Ok(())
    };
    let sink = |slices: &[IoSlice<'_>]| Ok(slices.iter().map(|slice| slice.len()).sum());
    let result = within(limits).send_buf(&mut rope, ask, sink);
    assert_eq!((result.unwrap(), asked), (60, 1));
}

#[test]
fn memory_for_chunks_is_kept_and_does_not_grow() {
    let mut gather = within(LIMITS);
    let rope = Tree::rope(&payload(&[10, 5000, 20, 3000, 7, 7]), Shows::All);
    let memory = |gather: &Gather| (gather.slices.as_ptr(), gather.slices.capacity());
    check(&mut gather, rope.clone(), &[]);
    let first = memory(&gather);
    assert_eq!(first.1, FIRST_SLICES);
    for _ in 0..10 {
        check(&mut gather, rope.clone(), &[]);
        assert_eq!(memory(&gather), first);
    }
}

#[test]
#[should_panic(expected = "the Buf has 3 bytes remaining, but its chunk() is empty")]
fn a_buf_with_bytes_but_an_empty_chunk_is_a_panic() {
    let sink = |_: &[IoSlice<'_>]| Ok(0);
    let _ = within(LIMITS).send_buf(&mut Hollow, || Ok(()), sink);
}
