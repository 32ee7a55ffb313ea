use std::cell::RefCell;
use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use proptest::prelude::*;
use tokio::io::AsyncWrite;

use super::tests::Model;
use super::*;
use crate::sys::limits::iov_max;

/// The answer of a scripted writer to a call.
#[derive(Clone, Copy, Debug)]
enum Answer {
    /// Takes up to this many bytes. 0 is an answer that breaks the contract.
    Take(usize),
    /// Is not ready. Whether it wakes the task is up to the script.
    Pending {
        wakes: bool,
    },
    Fail(io::ErrorKind),
    /// Takes nothing and reports this many bytes more than it was given.
    Overstate(usize),
}

/// State that the writer and the test share while the queue is borrowed.
struct State {
    script: std::vec::IntoIter<Answer>,
    /// The bytes in the queue, as they should be.
    model: Model,
    policy: QueuePolicy,
    gathers: bool,
    /// The bytes of the last offer, if the writer was not ready then.
    pending_bytes: Option<usize>,
    /// The bytes that were taken since the test polled.
    taken_in_poll: usize,
    /// The last answer since the test polled.
    last_answer: Option<Answer>,
    is_flushed: bool,
}

/// A writer that answers as its script says and checks every offer against the model. Inside each call it writes a
/// queue of its own. After the end of the script it takes everything.
#[derive(Clone)]
struct ScriptedWriter(Rc<RefCell<State>>);

impl ScriptedWriter {
    fn answer(&self, cx: &Context<'_>, offer: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        write_another_queue();
        let mut state = self.0.borrow_mut();
        state.check_offer(offer);
        let given = offer.iter().map(|slice| slice.len()).sum();
        let answer = state.script.next().unwrap_or(Answer::Take(usize::MAX));
        state.last_answer = Some(answer);
        state.is_flushed = false;
        match answer {
            Answer::Take(most) => {
                let taken = most.min(given);
                state.model.advance(taken);
                state.taken_in_poll += taken;
                if taken > 0 {
                    state.pending_bytes = None;
                }
                Poll::Ready(Ok(taken))
            }
            Answer::Pending { wakes } => {
                state.pending_bytes = Some(given);
                if wakes {
                    cx.waker().wake_by_ref();
                }
                Poll::Pending
            }
            Answer::Fail(kind) => Poll::Ready(Err(kind.into())),
            Answer::Overstate(excess) => Poll::Ready(Ok(given + excess)),
        }
    }
}

impl State {
    fn check_offer(&self, offer: &[IoSlice<'_>]) {
        assert!(offer.iter().all(|slice| !slice.is_empty()));
        assert!(!offer.is_empty() && offer.len() <= iov_max());
        let offered: Vec<u8> = offer.iter().flat_map(|slice| slice.to_vec()).collect();
        let (given, remaining) = (offered.len(), self.model.bytes.len());
        assert!(given <= remaining, "more than was put in");
        assert_eq!(offered, self.model.bytes[..given]);
        let budget = self.policy.poll_budget_bytes.max(1);
        assert!(self.taken_in_poll < budget, "a call beyond the budget");
        let ends = &self.model.record_ends;
        let ends_at_record = ends.is_empty() || ends.contains(&given) || given == remaining;
        // A writer that does not gather has cut the first record before.
        let is_of_rest = !self.gathers && self.model.is_cut && ends.iter().all(|end| *end > given);
        match self.pending_bytes {
            Some(before) => assert!(given >= before, "{given} bytes, but {before} before"),
            None => assert!(
                ends_at_record || is_of_rest,
                "{given} bytes cut a record: {ends:?}"
            ),
        }
        if !self.gathers {
            assert_eq!(offer.len(), 1, "a list for a writer that does not gather");
            let policy = &self.policy;
            let joined = policy.join_below_bytes.min(policy.chunk_bytes.max(1));
            let is_repeated = self.pending_bytes == Some(given);
            let is_long = given >= joined.min(remaining) || ends.contains(&given) || is_repeated;
            assert!(is_long, "{given} bytes, though {joined} are worth copying");
        }
    }
}

impl AsyncWrite for ScriptedWriter {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.answer(cx, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.answer(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.borrow().gathers
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut state = self.0.borrow_mut();
        let answer = state.script.next();
        state.last_answer = answer;
        match answer {
            Some(Answer::Pending { wakes }) => {
                if wakes {
                    cx.waker().wake_by_ref();
                }
                Poll::Pending
            }
            Some(Answer::Fail(kind)) => Poll::Ready(Err(kind.into())),
            _ => {
                state.is_flushed = true;
                Poll::Ready(Ok(()))
            }
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// A writer that takes everything, and gathers or not.
#[derive(Default)]
struct Collector {
    gathers: bool,
    taken: Vec<u8>,
    calls: Vec<usize>,
    /// The most bytes that it takes of a slice.
    most: Option<usize>,
}

impl AsyncWrite for Collector {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.calls.push(bytes.len());
        let taken = self.most.unwrap_or(usize::MAX).min(bytes.len());
        self.taken.extend_from_slice(&bytes[..taken]);
        Poll::Ready(Ok(taken))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        slices
            .iter()
            .for_each(|slice| self.taken.extend_from_slice(slice));
        Poll::Ready(Ok(slices.iter().map(|slice| slice.len()).sum()))
    }

    fn is_write_vectored(&self) -> bool {
        self.gathers
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// A TLS stream is like this: it is written by a queue and has a queue of its own.
fn write_another_queue() {
    let policy = QueuePolicy {
        copy_below_bytes: 0,
        ..QueuePolicy::default()
    };
    for gathers in [true, false] {
        let mut queue = SegmentQueue::with_policy(policy);
        let mut expected = Vec::new();
        for size in [3, 300, 20] {
            queue.push(vec![0xee; size]);
            expected.resize(expected.len() + size, 0xee);
        }
        let mut inner = Collector {
            gathers,
            ..Collector::default()
        };
        let polled = queue.poll_write_to(&mut Context::from_waker(Waker::noop()), &mut inner);
        assert!(matches!(polled, Poll::Ready(Ok(()))));
        assert_eq!(inner.taken, expected);
    }
}

#[derive(Default)]
struct WakeCounter(AtomicUsize);

impl Wake for WakeCounter {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// A step of a task that owns a queue.
#[derive(Clone, Debug)]
enum Step {
    PutSlice(usize),
    Push(usize),
    EndRecord,
    Advance(usize),
    Clear,
    PollSome,
    PollTo,
    /// The writer begins to gather, or ends it, as a stream does that is upgraded to TLS.
    TurnGathering,
    /// Polls `drain_to` up to this many times, then drops the future.
    Drain(usize),
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..40_usize).prop_map(Step::PutSlice),
        6 => (0..60_usize).prop_map(Step::Push),
        3 => Just(Step::EndRecord),
        1 => (0..40_usize).prop_map(Step::Advance),
        1 => Just(Step::Clear),
        6 => Just(Step::PollSome),
        4 => Just(Step::PollTo),
        1 => Just(Step::TurnGathering),
        4 => (0..4_usize).prop_map(Step::Drain),
    ]
}

fn any_script() -> impl Strategy<Value = Vec<Answer>> {
    let kind = prop_oneof![
        Just(io::ErrorKind::BrokenPipe),
        Just(io::ErrorKind::Interrupted),
        Just(io::ErrorKind::WouldBlock),
    ];
    let answer = prop_oneof![
        6 => (1..60_usize).prop_map(Answer::Take),
        2 => Just(Answer::Take(usize::MAX)),
        1 => Just(Answer::Take(0)),
        8 => any::<bool>().prop_map(|wakes| Answer::Pending { wakes }),
        1 => kind.prop_map(Answer::Fail),
        1 => (1..9_usize).prop_map(Answer::Overstate),
    ];
    prop::collection::vec(answer, 0..40)
}

fn any_policy() -> impl Strategy<Value = QueuePolicy> {
    let size = || prop_oneof![Just(0_usize), 1..80_usize, Just(usize::MAX)];
    let sizes = (size(), size(), size(), size(), size());
    sizes.prop_map(|(copy, join, chunk, retained, budget)| QueuePolicy {
        copy_below_bytes: copy,
        join_below_bytes: join,
        chunk_bytes: chunk,
        retained_bytes: retained,
        poll_budget_bytes: budget,
        ..QueuePolicy::default()
    })
}

struct Run {
    queue: SegmentQueue,
    writer: ScriptedWriter,
    wakes: Arc<WakeCounter>,
}

impl Run {
    fn new(policy: QueuePolicy, script: Vec<Answer>, gathers: bool) -> Run {
        let state = State {
            script: script.into_iter(),
            model: Model::default(),
            policy,
            gathers,
            pending_bytes: None,
            taken_in_poll: 0,
            last_answer: None,
            is_flushed: false,
        };
        Run {
            queue: SegmentQueue::with_policy(policy),
            writer: ScriptedWriter(Rc::new(RefCell::new(state))),
            wakes: Arc::default(),
        }
    }

    /// The bytes that were put in and that the test did not remove must be taken or in the queue.
    fn step(&mut self, step: Step) {
        let state = Rc::clone(&self.writer.0);
        match step {
            Step::PutSlice(size) => {
                let bytes = state.borrow_mut().model.next(size);
                self.queue.put_slice(&bytes);
            }
            Step::Push(size) => {
                let bytes = state.borrow_mut().model.next(size);
                self.queue.push(bytes);
            }
            Step::EndRecord => {
                self.queue.end_record();
                let model = &mut state.borrow_mut().model;
                if !model.bytes.is_empty() {
                    model.record_ends.push(model.bytes.len());
                }
            }
            Step::Advance(bytes) => {
                let bytes = bytes.min(self.queue.len());
                self.queue.advance(bytes);
                let mut state = state.borrow_mut();
                state.model.advance(bytes);
                state.pending_bytes = state
                    .pending_bytes
                    .map(|before| before.saturating_sub(bytes));
            }
            Step::Clear => {
                self.queue.clear();
                let mut state = state.borrow_mut();
                let bytes = state.model.bytes.len();
                state.model.advance(bytes);
                state.pending_bytes = None;
            }
            Step::PollSome => {
                let polled =
                    self.poll(|queue, cx, writer| queue.poll_write_some(cx, Pin::new(writer)));
                let taken = state.borrow().taken_in_poll;
                if let Poll::Ready(Ok(bytes)) = polled {
                    assert_eq!(bytes, taken);
                    assert!(bytes > 0 || self.queue.is_empty());
                }
            }
            Step::PollTo => {
                let polled = self.poll(SegmentQueue::poll_write_to);
                if let Poll::Ready(Ok(())) = polled {
                    assert!(self.queue.is_empty());
                }
            }
            Step::TurnGathering => {
                let mut state = state.borrow_mut();
                state.gathers = !state.gathers;
            }
            Step::Drain(polls) => {
                self.drain(polls);
            }
        }
        let state = state.borrow();
        assert_eq!(
            self.queue.segments().collect::<Vec<_>>().concat(),
            state.model.bytes
        );
        assert_eq!(self.queue.len(), state.model.bytes.len());
    }

    /// Polls `drain_to` up to `polls` times; true if it succeeded.
    fn drain(&mut self, polls: usize) -> bool {
        let Run {
            queue,
            writer,
            wakes,
        } = self;
        let state = Rc::clone(&writer.0);
        let budget = queue.policy().poll_budget_bytes;
        let mut future = pin!(queue.drain_to(writer));
        for _ in 0..polls {
            begin_poll(&state);
            let before = wakes.0.load(Ordering::SeqCst);
            let polled = future
                .as_mut()
                .poll(&mut Context::from_waker(&Waker::from(Arc::clone(wakes))));
            let woken = wakes.0.load(Ordering::SeqCst) - before;
            check_poll(&state.borrow(), budget, &polled, woken);
            if let Poll::Ready(result) = polled {
                let state = state.borrow();
                if result.is_ok() {
                    assert!(state.model.bytes.is_empty() && state.is_flushed);
                }
                return result.is_ok();
            }
        }
        false
    }

    fn poll<T: std::fmt::Debug>(
        &mut self,
        poll: impl FnOnce(
            &mut SegmentQueue,
            &mut Context<'_>,
            &mut ScriptedWriter,
        ) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let state = Rc::clone(&self.writer.0);
        begin_poll(&state);
        let before = self.wakes.0.load(Ordering::SeqCst);
        let waker = Waker::from(Arc::clone(&self.wakes));
        let polled = poll(
            &mut self.queue,
            &mut Context::from_waker(&waker),
            &mut self.writer,
        );
        let woken = self.wakes.0.load(Ordering::SeqCst) - before;
        check_poll(
            &state.borrow(),
            self.queue.policy().poll_budget_bytes,
            &polled,
            woken,
        );
        polled
    }
}

fn begin_poll(state: &RefCell<State>) {
    let mut state = state.borrow_mut();
    state.taken_in_poll = 0;
    state.last_answer = None;
}

/// The result of a poll is the last answer of the writer, except that the budget may have been spent.
fn check_poll<T>(state: &State, budget: usize, polled: &Poll<io::Result<T>>, woken: usize) {
    match (polled, state.last_answer) {
        (Poll::Pending, Some(Answer::Pending { wakes })) => assert_eq!(woken, usize::from(wakes)),
        (Poll::Pending, _) => {
            assert!(state.taken_in_poll >= budget.max(1), "it waits for nothing");
            assert_eq!(woken, 1, "nobody polls it again");
        }
        (Poll::Ready(Err(error)), Some(Answer::Fail(kind))) => assert_eq!(error.kind(), kind),
        (Poll::Ready(Err(error)), Some(Answer::Take(0))) => {
            assert_eq!(error.kind(), io::ErrorKind::WriteZero);
        }
        (Poll::Ready(Err(error)), Some(Answer::Overstate(_))) => {
            assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        }
        (Poll::Ready(Err(error)), answer) => panic!("{error}, though the answer was {answer:?}"),
        (Poll::Ready(Ok(_)), _) => assert_eq!(woken, 0),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_queue_reaches_any_asynchronous_writer_whole_and_in_order(
        policy in any_policy(),
        steps in prop::collection::vec(any_step(), 0..60),
        script in any_script(),
        gathers in any::<bool>(),
    ) {
        let mut run = Run::new(policy, script, gathers);
        for step in steps {
            run.step(step);
        }
        let drained = (0..1_000).any(|_| run.drain(1));
        assert!(drained, "it does not come to an end");
    }
}

#[test]
fn a_writer_that_does_not_gather_gets_joined_pieces_and_long_segments_as_they_are() {
    let policy = QueuePolicy {
        copy_below_bytes: 0,
        join_below_bytes: 64,
        ..QueuePolicy::default()
    };
    let calls = |sizes: &[usize]| {
        let mut queue = SegmentQueue::with_policy(policy);
        sizes.iter().for_each(|size| queue.push(vec![1; *size]));
        let mut writer = Collector::default();
        let cx = &mut Context::from_waker(Waker::noop());
        assert!(queue.poll_write_to(cx, &mut writer).is_ready());
        writer.calls
    };
    assert_eq!(calls(&[10; 20]), [64, 64, 64, 8]);
    assert_eq!(calls(&[64, 65, 1000]), [64, 65, 1000]);
    assert_eq!(calls(&[10, 1000, 10]), [64, 946, 10]);
}

#[test]
fn a_long_record_is_one_call_of_a_writer_that_does_not_gather() {
    let policy = QueuePolicy {
        copy_below_bytes: 0,
        join_below_bytes: 64,
        chunk_bytes: 30,
        ..QueuePolicy::default()
    };
    let mut queue = SegmentQueue::with_policy(policy);
    for _ in 0..3 {
        queue.push(b"head");
        queue.push(vec![1; 96]);
        queue.end_record();
    }
    let mut writer = Collector::default();
    let cx = &mut Context::from_waker(Waker::noop());
    assert!(queue.poll_write_to(cx, &mut writer).is_ready());
    assert_eq!(writer.calls, [100, 100, 100]);
}

#[test]
fn the_rest_of_a_long_record_is_not_copied_for_each_part_that_the_writer_takes() {
    let policy = QueuePolicy {
        copy_below_bytes: 0,
        join_below_bytes: 64,
        ..QueuePolicy::default()
    };
    let mut queue = SegmentQueue::with_policy(policy);
    (0..1_000).for_each(|_| queue.push(vec![1; 10]));
    queue.end_record();
    let mut writer = Collector {
        most: Some(16),
        ..Collector::default()
    };
    let cx = &mut Context::from_waker(Waker::noop());
    assert!(queue.poll_write_to(cx, &mut writer).is_ready());
    assert_eq!(writer.taken.len(), 10_000);
    // The whole record, then four times as many bytes as the writer takes.
    assert_eq!(writer.calls[0], 10_000);
    let offered: usize = writer.calls.iter().sum();
    assert!(offered <= 5 * 10_000, "{offered} bytes were offered");
}

#[test]
fn what_was_offered_before_cuts_no_record_once_the_writer_took_bytes() {
    let policy = QueuePolicy {
        chunk_bytes: 60,
        ..QueuePolicy::default()
    };
    let script = vec![Answer::Pending { wakes: false }, Answer::Take(5)];
    let mut run = Run::new(policy, script, true);
    // The first two calls get all 60 bytes, the third the rest of the record alone.
    for step in [Step::PutSlice(50), Step::EndRecord, Step::PutSlice(10)] {
        run.step(step);
    }
    run.step(Step::PollSome);
    run.step(Step::PutSlice(60));
    run.step(Step::PollSome);
    run.step(Step::PollSome);
    assert_eq!(run.queue.len(), 70);
}

#[test]
fn memory_for_joining_goes_back() {
    let policy = QueuePolicy {
        copy_below_bytes: 0,
        join_below_bytes: 1 << 20,
        ..QueuePolicy::default()
    };
    let mut queue = SegmentQueue::with_policy(policy);
    let cx = &mut Context::from_waker(Waker::noop());
    let mut turn = |segment_bytes: usize| {
        queue.push(vec![1; segment_bytes]);
        queue.push(vec![2; segment_bytes]);
        assert!(
            queue
                .poll_write_to(cx, &mut Collector::default())
                .is_ready()
        );
        super::poll::joined_capacity()
    };
    assert!(turn(500_000) <= policy.retained_bytes);
    let kept = turn(50_000);
    assert!((100_000..=policy.retained_bytes).contains(&kept), "{kept}");
}

#[test]
fn a_task_that_drains_a_queue_may_run_on_any_thread() {
    fn assert_send<T: Send>(_: T) {}
    let mut queue = SegmentQueue::new();
    let mut writer = Collector::default();
    assert_send(queue.drain_to(&mut writer));
}
