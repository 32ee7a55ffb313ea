//! The random, balanced order of the samples within a round.

use fastrand::Rng;

/// Generates orders of `0..count`.
///
/// Every block of `count` rounds is a Latin square: the rows of the block are the rotations of one random permutation, in
/// random order. Each block is reversed with a probability of one half. Within a block, each contender takes each place
/// once, and no contender always follows the same other contender.
#[derive(Debug, Clone)]
pub struct BalancedOrder {
    count: usize,
    permutation: Vec<usize>,
    rotations: Vec<usize>,
    reversed: bool,
}

impl BalancedOrder {
    pub fn new(count: usize) -> Self {
        BalancedOrder {
            count,
            permutation: (0..count).collect(),
            rotations: Vec::new(),
            reversed: false,
        }
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_change_from_block_to_block() {
        let mut rng = Rng::with_seed(7);
        let mut order = BalancedOrder::new(4);
        let mut zero_after_one = 0;
        for _ in 0..400 {
            let round = order.next(&mut rng);
            zero_after_one += round.windows(2).filter(|pair| *pair == [1, 0]).count();
        }
        // A round has three neighbouring pairs out of twelve ordered pairs, so
        // each ordered pair is expected in a quarter of the rounds.
        assert!((60..140).contains(&zero_after_one), "{zero_after_one}");
    }
}
