//! The orders of rank 0.

use serde::{Deserialize, Serialize};

use crate::measure::ranks::group::Group;
use crate::measure::sampling::sampler::DrainChoice;
use crate::model::{CellSpec, Technique};

/// What all ranks of a group do next.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Order {
    /// The first ranks open a cell; the others rest until it is closed.
    Cell(u32, CellOrder),
    /// A round begins.
    Round(u32),
    /// A sample of the contender at this place, of this many calls.
    Sample(u32, u32),
    /// The cell is closed.
    Close,
    /// The run has ended.
    End,
}

/// A cell to open.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct CellOrder {
    pub spec: CellSpec,
    pub techniques: Vec<Technique>,
    /// [`DrainChoice::Thread`].
    pub drains_by_thread: bool,
}

impl CellOrder {
    pub fn drain(&self) -> DrainChoice {
        match self.drains_by_thread {
            true => DrainChoice::Thread,
            false => DrainChoice::Probe,
        }
    }
}

/// An order has a head of this many bytes: its kind, two numbers and the length of its body.
const HEAD_BYTES: usize = 20;

/// Gives an order to all other ranks of a group. Only rank 0 calls it.
pub(crate) fn give(group: &dyn Group, order: &Order) -> serde_json::Result<()> {
    let (kind, numbers) = match order {
        Order::Cell(ranks, _) => (0, [*ranks, 0]),
        Order::Round(round) => (1, [*round, 0]),
        Order::Sample(place, calls) => (2, [*place, *calls]),
        Order::Close => (3, [0, 0]),
        Order::End => (4, [0, 0]),
    };
    let mut body = match order {
        Order::Cell(_, cell) => serde_json::to_vec(cell)?,
        _ => Vec::new(),
    };
    let mut head = [0; HEAD_BYTES];
    let words = [kind, numbers[0], numbers[1]];
    for (place, word) in std::iter::zip(head.chunks_exact_mut(4), words) {
        place.copy_from_slice(&u32::to_le_bytes(word));
    }
    head[12..].copy_from_slice(&(body.len() as u64).to_le_bytes());
    group.broadcast(&mut head);
    if !body.is_empty() {
        group.broadcast(&mut body);
    }
    Ok(())
}

/// Waits for the next order.
///
/// # Panics
///
/// If rank 0 sends no order: it runs another version of this program.
pub(crate) fn receive(group: &dyn Group) -> Order {
    let mut head = [0; HEAD_BYTES];
    group.broadcast(&mut head);
    let word = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().expect("four bytes"));
    let length = u64::from_le_bytes(head[12..].try_into().expect("eight bytes"));
    let mut body = vec![0; length as usize];
    if !body.is_empty() {
        group.broadcast(&mut body);
    }
    match word(0) {
        0 => {
            let cell = serde_json::from_slice(&body).expect("an order of the same program");
            Order::Cell(word(4), cell)
        }
        1 => Order::Round(word(4)),
        2 => Order::Sample(word(4), word(8)),
        3 => Order::Close,
        4 => Order::End,
        kind => {
            panic!("rank 0 gave an order of unknown kind {kind}: do all ranks run one program?")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::ranks::thread_group::ThreadGroup;
    use crate::model::{Target, Workload};

    #[test]
    fn every_order_arrives_as_it_was_given() {
        let spec = CellSpec::write(Target::Pipe, Workload::uniform(1000, 7));
        let cell = CellOrder {
            spec,
            techniques: vec![Technique::Writev, Technique::Adaptive],
            drains_by_thread: true,
        };
        let orders = [
            Order::Cell(3, cell),
            Order::Round(7),
            Order::Sample(2, 1024),
            Order::Close,
            Order::End,
        ];
        let mut ranks = ThreadGroup::of(2);
        let follower = ranks.pop().unwrap();
        let count = orders.len();
        let received = std::thread::spawn(move || {
            let all = (0..count).map(|_| receive(&follower));
            all.collect::<Vec<_>>()
        });
        for order in &orders {
            give(&ranks[0], order).unwrap();
        }
        assert_eq!(received.join().unwrap(), orders);
    }
}
