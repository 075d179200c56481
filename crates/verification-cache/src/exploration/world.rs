//! The state of the model, and its possible next steps.

use std::time::Duration;

use keyward_domain::access_changes::RegisteredReplicas;

use super::database::Database;
use super::explored_change::{ExploredChange, Key};
use super::machine::{self, Machine, Verified};
use super::revoker::{self, Revoker};
use super::watch::Watch;
use crate::LEASE;
use crate::boot_time::BootTime;
use crate::mutant::Mutant;

/// How far to look.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub(super) change: ExploredChange,
    pub(super) replicas: u8,
    /// How many of them may pause within a round of polling, and before a verification's query. Of the others
    /// a whole round is one step, and so is all that comes before the query, or there would be too many
    /// states.
    pub(super) pausing: usize,
    pub(super) revocations: usize,
    pub(super) losses: u8,
    pub(super) restarts: u8,
    /// How often the revocation of a key is repeated.
    pub(super) repetitions: usize,
    /// How often the time of day is set back by a lease.
    pub(super) steps: u8,
    pub(super) restores: u8,
    /// How often the replica's machine sleeps for a tick.
    pub(super) sleeps: u8,
    /// How many queries a former primary answers.
    pub(super) misled: u8,
    /// Whether one reader reads the replicas for all that wait, and not each for itself.
    pub(super) has_watch: bool,
    pub(super) clock: LeaseClock,
}

/// The greatest age of entries where a former primary answers, in ticks: more than a lease. Elsewhere they
/// have none, so there are fewer states.
const MISLED_AGE: u32 = 3;

/// By which clock the replicas measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LeaseClock {
    Boot,
    Monotonic,
    TimeOfDay,
}

pub(super) struct World {
    bounds: Bounds,
    mutant: Option<Mutant>,
    greatest_age: Duration,
    /// How often half a lease went by.
    ticks: u32,
    slept: u32,
    set_back: u32,
    started: u8,
    database: Database,
    backup: Option<(Database, [bool; 2])>,
    machines: Vec<Machine>,
    /// For each key one, and the repetitions.
    revokers: Vec<(Key, Revoker)>,
    watch: Watch,
    answered: [bool; 2],
    /// Until which tick an answer of a former primary may be repeated.
    excused_until: u32,
}

/// The parts of a world by which states are compared. All times are relative to the present, so a walk may
/// last any time.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct State {
    left: [u8; 6],
    excused: u32,
    database: Database,
    backup: Option<(Database, [bool; 2])>,
    machines: Vec<machine::Fingerprint>,
    revokers: Vec<revoker::Fingerprint>,
    watch: [Option<RegisteredReplicas>; 2],
    answered: [bool; 2],
}

/// One step of one participant, between which any other may come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Tick,
    Sleep,
    SetBack,
    Verify(usize, Key),
    Mislead(usize),
    Poll(usize),
    Lose(usize),
    Restart(usize),
    Revoke(usize),
    Read,
    BackUp,
    Restore,
}

/// The result of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Fine,
    /// A verification began after the answer.
    Late,
    /// A key was accepted in one.
    AcceptedLate,
}

impl World {
    pub(super) fn new(bounds: Bounds, mutant: Option<Mutant>) -> Self {
        let first = (0..bounds.revocations).map(|key| (key, Revoker::Waiting));
        let again = (0..bounds.repetitions).map(|_| (0, Revoker::Waiting));
        let greatest_age = match bounds.misled {
            0 => Duration::MAX,
            _ => LEASE / 2 * MISLED_AGE,
        };
        Self {
            bounds,
            mutant,
            greatest_age,
            ticks: 0,
            slept: 0,
            set_back: 0,
            started: bounds.replicas,
            database: Database::new(bounds.change),
            backup: None,
            machines: (0..bounds.replicas)
                .map(|id| Machine::start(id, bounds.change, greatest_age, mutant))
                .collect(),
            revokers: first.chain(again).collect(),
            watch: Watch::default(),
            answered: [false; 2],
            excused_until: 0,
        }
    }

    pub(super) fn fork(&self) -> Self {
        Self {
            machines: self.machines.iter().map(Machine::fork).collect(),
            database: self.database.clone(),
            backup: self.backup.clone(),
            revokers: self.revokers.clone(),
            watch: self.watch.clone(),
            ..*self
        }
    }

    pub(super) fn state(&self) -> State {
        let left = self.bounds;
        let (real, now) = (self.real_time(), self.lease_time());
        State {
            left: [
                left.losses,
                left.restarts,
                left.steps,
                left.restores,
                left.sleeps,
                left.misled,
            ],
            excused: self.excused_until.saturating_sub(self.ticks),
            database: self.database.clone(),
            backup: self.backup.clone(),
            machines: self
                .machines
                .iter()
                .map(|machine| machine.fingerprint(now))
                .collect(),
            revokers: self
                .revokers
                .iter()
                .map(|(_, revoker)| revoker.fingerprint(real, &self.watch))
                .collect(),
            watch: self.watch.fingerprint(),
            answered: self.answered,
        }
    }

    pub(super) fn possible(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        let left = self.bounds;
        for (index, machine) in self.machines.iter().enumerate() {
            // A machine that continues a query already has its key.
            let keys = if machine.is_verifying() {
                1
            } else {
                left.revocations
            };
            steps.extend((0..keys).map(|key| Step::Verify(index, key)));
            steps.push(Step::Poll(index));
            if left.losses > 0 && machine.awaits_answer() {
                steps.push(Step::Lose(index));
            }
            if left.misled > 0 && machine.is_asking() {
                steps.push(Step::Mislead(index));
            }
            if left.restarts > 0 {
                steps.push(Step::Restart(index));
            }
        }
        let revokers = self.revokers.iter().enumerate();
        steps.extend(
            revokers
                .filter(|(_, (_, revoker))| *revoker != Revoker::Done)
                .map(|(index, _)| Step::Revoke(index)),
        );
        let is_waiting = |(_, revoker): &(Key, Revoker)| matches!(revoker, Revoker::Committed(_));
        if left.has_watch && self.revokers.iter().any(is_waiting) {
            steps.push(Step::Read);
        }
        steps.push(Step::Tick);
        if left.sleeps > 0 {
            steps.push(Step::Sleep);
        }
        if left.steps > 0 {
            steps.push(Step::SetBack);
        }
        if left.restores > 0 {
            steps.push(if self.backup.is_some() {
                Step::Restore
            } else {
                Step::BackUp
            });
        }
        steps
    }

    pub(super) fn take(&mut self, step: Step) -> Outcome {
        let (real, now) = (self.real_time(), self.lease_time());
        match step {
            Step::Tick => self.ticks += 1,
            Step::Sleep => {
                self.ticks += 1;
                self.slept += 1;
                self.bounds.sleeps -= 1;
            }
            Step::SetBack => {
                self.set_back += 2;
                self.bounds.steps -= 1;
            }
            Step::Verify(machine, key) => {
                let may_pause = machine < self.bounds.pausing;
                let machine = &mut self.machines[machine];
                let is_late = self.answered[key];
                let begins = !machine.is_verifying();
                let mut verified = machine.verify(key, now, is_late, &self.database);
                while !may_pause && machine.is_before_query() {
                    verified = machine.verify(key, now, is_late, &self.database);
                }
                return match verified {
                    Verified::AcceptedLate if self.ticks < self.excused_until => Outcome::Fine,
                    Verified::AcceptedLate => Outcome::AcceptedLate,
                    _ if begins && is_late => Outcome::Late,
                    _ => Outcome::Fine,
                };
            }
            Step::Mislead(machine) => {
                self.machines[machine].be_misled();
                self.excused_until = self.ticks + MISLED_AGE;
                self.bounds.misled -= 1;
            }
            Step::Poll(machine) if machine < self.bounds.pausing => {
                self.machines[machine].poll(now, &mut self.database);
            }
            Step::Poll(machine) => {
                let machine = &mut self.machines[machine];
                machine.poll(now, &mut self.database);
                while machine.awaits_answer() {
                    machine.poll(now, &mut self.database);
                }
            }
            Step::Lose(machine) => {
                self.machines[machine].lose();
                self.bounds.losses -= 1;
            }
            Step::Restart(machine) => {
                let change = self.bounds.change;
                self.machines[machine] = Machine::start(self.started, change, self.greatest_age, self.mutant);
                self.started += 1;
                self.bounds.restarts -= 1;
            }
            Step::Revoke(index) => {
                let (key, revoker) = &mut self.revokers[index];
                let watch = self.bounds.has_watch.then_some(&self.watch);
                let is_answered = revoker.step(*key, real, &mut self.database, watch, self.mutant);
                self.answered[*key] |= is_answered;
            }
            Step::Read => self.watch.step(&self.database),
            Step::BackUp => self.backup = Some((self.database.clone(), self.answered)),
            Step::Restore => {
                if let Some((database, answered)) = self.backup.take() {
                    // Revocations since the backup are lost and repeated. Restoring takes longer than a
                    // lease, because a replica that registered since the backup is unknown now, so no
                    // revocation waits for it.
                    self.ticks += 2;
                    self.database = database;
                    self.answered = answered;
                    for machine in &mut self.machines {
                        machine.forget_answers(answered);
                    }
                    for (_, revoker) in &mut self.revokers {
                        *revoker = Revoker::Waiting;
                    }
                }
                self.bounds.restores -= 1;
            }
        }
        Outcome::Fine
    }

    fn real_time(&self) -> BootTime {
        at(self.ticks)
    }

    fn lease_time(&self) -> BootTime {
        match self.bounds.clock {
            LeaseClock::Boot => at(self.ticks),
            LeaseClock::Monotonic => at(self.ticks - self.slept),
            LeaseClock::TimeOfDay => at(self.ticks + 2 - self.set_back),
        }
    }
}

/// Some time after the machine was started.
fn at(ticks: u32) -> BootTime {
    BootTime::since_start(Duration::from_secs(60) + LEASE / 2 * ticks)
}
