//! The random, balanced order of the samples within a round.

use fastrand::Rng;

/// Generates orders of `0..count`.
///
/// Every block of `count` rounds is a Latin square: its rows are the rotations
/// of one random permutation in random order, and half of the blocks are
/// reversed by chance. Within a block each contender therefore takes each place
/// once, and no contender always follows the same other one.
#[derive(Debug, Clone)]
pub struct BalancedOrder {
    count: usize,
    permutation: Vec<usize>,
    rotations: Vec<usize>,
    reversed: bool,
}

impl BalancedOrder {
    /// Orders of `count` contenders.
    pub fn new(count: usize) -> Self {
        BalancedOrder {
            count,
            permutation: (0..count).collect(),
            rotations: Vec::new(),
            reversed: false,
        }
    }

    /// The order of the next round.
    pub fn next(&mut self, rng: &mut Rng) -> Vec<usize> {
        let rotation = self.rotations.pop().unwrap_or_else(|| {
            rng.shuffle(&mut self.permutation);
            self.rotations = (0..self.count).collect();
            rng.shuffle(&mut self.rotations);
            self.reversed = rng.bool();
            self.rotations.pop().unwrap_or(0)
        });
        let mut order = self.permutation.clone();
        order.rotate_left(rotation);
        if self.reversed {
            order.reverse();
        }
        order
    }
}
