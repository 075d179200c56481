//! The walk through all states.

use std::collections::{HashSet, VecDeque};
use std::hash::{BuildHasher, RandomState};

use super::world::{Bounds, Outcome, Step, World};
use crate::mutant::Mutant;

pub(super) enum Finding {
    /// No fault, in this many states; and the number of verifications that began after the answer to the
    /// revocation of their key.
    Safe { states: usize, late: usize },
    /// A key that was accepted after the answer to its revocation, and the steps that lead there.
    Accepted(Vec<Step>),
}

/// Takes every step that is possible in every state that can be reached.
pub(super) fn walk(bounds: Bounds, mutant: Option<Mutant>) -> Finding {
    // Of a state only two hashes are kept: that two states share both is out of the question.
    let hashers = [RandomState::new(), RandomState::new()];
    let mut seen = HashSet::new();
    let mut late = 0;
    // How each state was reached first: from which one, by which step.
    let mut trail: Vec<(usize, Step)> = Vec::new();
    let mut open = VecDeque::from([(World::new(bounds, mutant), None)]);
    while let Some((world, reached)) = open.pop_front() {
        for step in world.possible() {
            let mut next = world.fork();
            match next.take(step) {
                Outcome::Fine => {}
                Outcome::Late => late += 1,
                Outcome::AcceptedLate => return Finding::Accepted(steps_to(&trail, reached, step)),
            }
            let state = next.state();
            if seen.insert([hashers[0].hash_one(&state), hashers[1].hash_one(&state)]) {
                trail.push((reached.unwrap_or(usize::MAX), step));
                open.push_back((next, Some(trail.len() - 1)));
            }
        }
    }
    Finding::Safe {
        states: seen.len(),
        late,
    }
}

/// The shortest way to a state, and one more step.
fn steps_to(trail: &[(usize, Step)], mut reached: Option<usize>, last: Step) -> Vec<Step> {
    let mut steps = vec![last];
    while let Some((before, step)) = reached.and_then(|index| trail.get(index)) {
        steps.push(*step);
        reached = Some(*before);
    }
    steps.reverse();
    steps
}
