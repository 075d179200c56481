//! The phase of a connection, and its deadline.

use std::{cmp::Ordering, sync::Arc};

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::{
    config::Deadlines, read_deadline::ReadDeadline, request_id::RequestId, serving_state::ServingState,
    unsent::UnsentAnswers,
};

/// How many bytes a client has to read to restart its timeouts: the deadline of an answer of unknown length,
/// and of any answer the short timeout while other clients wait. At 60 s, a line of 35 kbit/s keeps up; a
/// trickling reader does not.
const PROGRESS_BYTES: usize = 256 * 1024;

/// How many short timeouts a slow reader has for [`PROGRESS_BYTES`] while others wait for a connection: at 5
/// s, a line of 420 kbit/s keeps up; while saturation continues, one of 840.
const TIMEOUTS_FOR_PROGRESS: u32 = 5;

/// The state of one connection, shared by its socket, its requests and its task.
#[derive(Debug)]
pub(crate) struct Activity {
    deadlines: Deadlines,
    unsent: Arc<UnsentAnswers>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    phase: Phase,
    /// Since when the client has owed the rest of its headers or, once these have arrived, of its body.
    owing_since: Instant,
    has_unread_body: bool,
    /// The request whose answer is being sent.
    answered: Option<RequestId>,
    /// The length of that answer, as it was counted among the unsent.
    unsent: u64,
}

/// The phases follow one another in this order; after `Idle` comes `Head`.
#[derive(Clone, Copy, Debug)]
enum Phase {
    /// Waiting for the rest of a request's headers; at first for its first byte too.
    Head,
    /// The application has the request. Body and handler have deadlines of their own.
    Handling,
    Answering {
        until: Instant,
        /// Only an answer of unknown length moves its deadline.
        is_streamed: bool,
        /// When the client last made progress, and how many bytes the system has accepted for it since.
        progress_since: Instant,
        taken: usize,
        is_complete: bool,
        /// Since when the system has taken nothing for the client although bytes are ready.
        stalled_since: Option<Instant>,
    },
    /// Waiting for the next request.
    Idle { until: Instant },
}

impl Activity {
    /// A connection that has just been accepted.
    pub(crate) fn new(deadlines: Deadlines, unsent: Arc<UnsentAnswers>) -> Self {
        Self {
            deadlines,
            unsent,
            state: Mutex::new(State {
                phase: Phase::Head,
                owing_since: Instant::now(),
                has_unread_body: false,
                answered: None,
                unsent: 0,
            }),
        }
    }

    /// Bytes came from the client. Only the first byte of a request starts its deadline: those that trickle
    /// in after it do not extend it.
    pub(crate) fn bytes_arrived(&self) {
        let mut state = self.state.lock();
        if matches!(state.phase, Phase::Idle { .. }) {
            state.phase = Phase::Head;
            state.owing_since = Instant::now();
        }
    }

    /// A request's headers are complete, since the moment that is returned.
    pub(crate) fn request_read(&self) -> Instant {
        let now = Instant::now();
        let mut state = self.state.lock();
        state.phase = Phase::Handling;
        state.owing_since = now;
        now
    }

    /// A request will be answered without reading its body to the end.
    pub(crate) fn body_left_unread(&self) {
        self.state.lock().has_unread_body = true;
    }

    /// The answer to a request is known; its length in bytes may not be. Then it is made piece by piece, as
    /// its client reads it, and does not count as unsent.
    pub(crate) fn answer_begun(&self, request: RequestId, length: Option<u64>) {
        let mut state = self.state.lock();
        self.count_unsent(&mut state, length.unwrap_or(0));
        state.answered = Some(request);
        let now = Instant::now();
        state.phase = Phase::Answering {
            until: now + self.deadlines.response,
            is_streamed: length.is_none(),
            progress_since: now,
            taken: 0,
            is_complete: false,
            stalled_since: None,
        };
    }

    /// The system has taken bytes for the client. It buffers some; then it takes as many as the client reads.
    pub(crate) fn bytes_taken(&self, bytes: usize) {
        if let Phase::Answering {
            until,
            is_streamed,
            progress_since,
            taken,
            stalled_since,
            ..
        } = &mut self.state.lock().phase
        {
            *stalled_since = None;
            *taken = taken.saturating_add(bytes);
            if *taken >= PROGRESS_BYTES {
                *taken = 0;
                *progress_since = Instant::now();
                if *is_streamed {
                    *until = *progress_since + self.deadlines.response;
                }
            }
        }
    }

    /// The system takes no bytes for the client, which has to read some first.
    pub(crate) fn bytes_refused(&self) {
        if let Phase::Answering { stalled_since, .. } = &mut self.state.lock().phase {
            stalled_since.get_or_insert_with(Instant::now);
        }
    }

    /// All of the answer is in hyper's buffer.
    pub(crate) fn answer_completed(&self) {
        if let Phase::Answering { is_complete, .. } = &mut self.state.lock().phase {
            *is_complete = true;
        }
    }

    /// All of hyper's buffer has been taken by the system.
    pub(crate) fn buffer_sent(&self) {
        let mut state = self.state.lock();
        if matches!(
            state.phase,
            Phase::Answering {
                is_complete: true,
                ..
            }
        ) {
            self.count_unsent(&mut state, 0);
            state.phase = Phase::Idle {
                until: Instant::now() + self.deadlines.keep_alive,
            };
        }
    }

    /// When the client must have sent the bytes that it owes; `until` while no other client waits.
    pub(crate) fn read_deadline(&self, until: Instant) -> ReadDeadline {
        let owing_since = self.state.lock().owing_since;
        self.read_deadline_since(owing_since, until)
    }

    const fn read_deadline_since(&self, owing_since: Instant, until: Instant) -> ReadDeadline {
        ReadDeadline {
            owing_since,
            until,
            saturated_timeout: self.deadlines.saturated_timeout,
        }
    }

    /// Until when the client must have moved.
    pub(crate) fn deadline(&self, serving: &ServingState) -> Option<Instant> {
        let State {
            phase, owing_since, ..
        } = *self.state.lock();
        match phase {
            Phase::Head => {
                let until = owing_since + self.deadlines.header_read;
                let read_deadline = self.read_deadline_since(owing_since, until);
                Some(read_deadline.at(serving.short_timeout()))
            }
            Phase::Answering {
                until,
                stalled_since: Some(stalled_since),
                progress_since,
                ..
            } => {
                let alone = until.min(stalled_since + self.deadlines.stalled_response);
                // Its answer is cut, and every answer can be asked for again.
                let timeout = self.deadlines.saturated_timeout;
                let shortest = serving.response_timeouts().flat_map(|short| {
                    [
                        short.reading_deadline(stalled_since, timeout),
                        short.reading_deadline(progress_since, timeout * TIMEOUTS_FOR_PROGRESS),
                    ]
                });
                Some(shortest.fold(alone, Instant::min))
            }
            // While the application prepares the answer, the client is not late.
            Phase::Answering { until, .. } => Some(until),
            Phase::Idle { until } => {
                let drained = serving
                    .draining_since
                    .map(|since| since + self.deadlines.idle_grace);
                Some(drained.map_or(until, |drained| drained.min(until)))
            }
            Phase::Handling => None,
        }
    }

    /// Whether the connection's latest request is answered and no further one has begun.
    pub(crate) fn is_served(&self) -> bool {
        matches!(
            self.state.lock().phase,
            Phase::Answering { .. } | Phase::Idle { .. }
        )
    }

    /// The request whose answer has not left yet, if there is one.
    pub(crate) fn unfinished_answer(&self) -> Option<RequestId> {
        let state = self.state.lock();
        match state.phase {
            Phase::Answering { .. } => state.answered.clone(),
            Phase::Head | Phase::Handling | Phase::Idle { .. } => None,
        }
    }

    /// Whether an answer waits for its client, and not for the application.
    pub(crate) fn waits_for_client(&self) -> bool {
        let is_stalled = |phase| {
            matches!(
                phase,
                Phase::Answering {
                    stalled_since: Some(_),
                    ..
                }
            )
        };
        is_stalled(self.state.lock().phase)
    }

    /// Whether the client may still be sending a body that is not read.
    pub(crate) fn has_unread_body(&self) -> bool {
        self.state.lock().has_unread_body
    }

    /// The connection has this much to send.
    fn count_unsent(&self, state: &mut State, bytes: u64) {
        let before = std::mem::replace(&mut state.unsent, bytes);
        // All connections share the counter: where nothing changes, nothing is written to it.
        match bytes.cmp(&before) {
            Ordering::Greater => self.unsent.add(bytes - before),
            Ordering::Less => self.unsent.remove(before - bytes),
            Ordering::Equal => {}
        }
    }
}

impl Drop for Activity {
    fn drop(&mut self) {
        self.unsent.remove(self.state.get_mut().unsent);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::{sync::watch, time::advance};

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn answering(length: Option<u64>) -> Activity {
        let serving = watch::Sender::new(ServingState::default());
        let unsent = UnsentAnswers::new(u64::MAX, serving);
        let activity = Activity::new(Deadlines::default(), Arc::new(unsent));
        activity.request_read();
        activity.answer_begun(RequestId::new(uuid::Uuid::nil()), length);
        activity
    }

    fn is_overdue(activity: &Activity) -> bool {
        let deadline = activity.deadline(&ServingState::default());
        deadline.is_some_and(|deadline| deadline <= Instant::now())
    }

    /// Takes `bytes` every `pause` for a day at most. After how long it is cut.
    async fn cut_after(activity: &Activity, bytes: usize, pause: Duration) -> Option<Duration> {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(86_400) {
            advance(pause).await;
            if is_overdue(activity) {
                return Some(begun.elapsed());
            }
            activity.bytes_taken(bytes);
        }
        None
    }

    #[tokio::test(start_paused = true)]
    async fn response_of_unknown_length_continues_while_its_client_reads() {
        let slow_line = cut_after(&answering(None), 8 * 1024, SECOND).await;
        assert_eq!(slow_line, None);
        let slow_store = cut_after(&answering(None), 1024 * 1024, 59 * SECOND).await;
        assert_eq!(slow_store, None);
    }

    #[tokio::test(start_paused = true)]
    async fn trickling_reader_is_disconnected_at_any_response_length() {
        let dripping = cut_after(&answering(None), 1, SECOND).await;
        assert_eq!(dripping, Some(Deadlines::default().response));
        // It begins well and then stops.
        let stalled = answering(None);
        stalled.bytes_taken(10 * PROGRESS_BYTES);
        advance(30 * SECOND).await;
        stalled.bytes_taken(PROGRESS_BYTES);
        assert_eq!(cut_after(&stalled, 1, SECOND).await, Some(60 * SECOND));
    }

    #[tokio::test(start_paused = true)]
    async fn response_of_known_length_has_one_total_deadline() {
        let sized = answering(Some(1 << 40));
        let cut = cut_after(&sized, 16 * 1024 * 1024, SECOND).await;
        assert_eq!(cut, Some(Deadlines::default().response));
    }

    #[tokio::test(start_paused = true)]
    async fn client_reading_nothing_is_disconnected_sooner_than_a_slow_one() {
        let stalled = answering(Some(1 << 20));
        stalled.bytes_taken(1_000);
        stalled.bytes_refused();
        advance(14 * SECOND).await;
        stalled.bytes_refused();
        assert!(!is_overdue(&stalled));
        assert!(stalled.waits_for_client());
        advance(SECOND).await;
        assert!(is_overdue(&stalled));

        stalled.bytes_taken(1);
        assert!(!is_overdue(&stalled) && !stalled.waits_for_client());
    }

    fn saturated_since(moment: Instant) -> ServingState {
        let mut serving = ServingState::default();
        serving.saturation.begin(moment);
        serving
    }

    #[tokio::test(start_paused = true)]
    async fn client_that_reads_nothing_has_the_short_timeout_when_saturated() {
        let now = Instant::now();
        let stalled = answering(Some(1 << 20));
        // The application has yet to give bytes: only a client has the short timeout.
        let alone = now + Deadlines::default().response;
        assert_eq!(stalled.deadline(&saturated_since(now)), Some(alone));
        stalled.bytes_refused();
        assert_eq!(stalled.deadline(&saturated_since(now)), Some(now + SECOND));
        advance(5 * SECOND).await;
        let saturation = Instant::now();
        assert_eq!(
            stalled.deadline(&saturated_since(saturation)),
            Some(saturation + SECOND)
        );
        assert_eq!(
            stalled.deadline(&ServingState::default()),
            Some(now + Deadlines::default().stalled_response)
        );
    }

    #[tokio::test(start_paused = true)]
    async fn saturated_slow_reader_has_five_short_timeouts_to_make_progress() {
        let step = SECOND / 4;
        let cut_when_saturated = async |length, bytes_in_a_step| {
            let activity = answering(length);
            let saturation = saturated_since(Instant::now());
            for steps in 1..1_000 {
                activity.bytes_refused();
                advance(step).await;
                if activity
                    .deadline(&saturation)
                    .is_none_or(|deadline| deadline <= Instant::now())
                {
                    return Some(steps * step);
                }
                activity.bytes_taken(bytes_in_a_step);
            }
            None
        };
        for length in [None, Some(1 << 30)] {
            assert_eq!(cut_when_saturated(length, 1_000).await, Some(5 * SECOND));
        }
        assert_eq!(cut_when_saturated(None, PROGRESS_BYTES / 8).await, None);
        // All of an answer of known length has a deadline still.
        assert_eq!(
            cut_when_saturated(Some(1 << 30), PROGRESS_BYTES / 8).await,
            Some(Deadlines::default().response)
        );
    }

    #[tokio::test(start_paused = true)]
    async fn client_reading_nothing_is_disconnected_within_a_second_without_memory() {
        let full = ServingState {
            unsent_full_since: Some(Instant::now()),
            ..ServingState::default()
        };
        let activity = answering(Some(1 << 20));
        let slow = activity.deadline(&full);
        assert_eq!(slow, Some(Instant::now() + Deadlines::default().response));
        activity.bytes_refused();
        let stalled = activity.deadline(&full);
        assert_eq!(stalled, Some(Instant::now() + SECOND));
        activity.bytes_taken(1);
        assert_eq!(activity.deadline(&full), slow);
    }

    #[tokio::test(start_paused = true)]
    async fn only_data_in_transit_counts_as_unsent() {
        let serving = watch::Sender::new(ServingState::default());
        let unsent = Arc::new(UnsentAnswers::new(1_000, serving.clone()));
        let is_too_much = || serving.borrow().unsent_full_since.is_some();
        let answering = |length| {
            let activity = Activity::new(Deadlines::default(), unsent.clone());
            activity.request_read();
            activity.answer_begun(RequestId::new(uuid::Uuid::nil()), length);
            activity
        };
        let sent = answering(Some(1_001));
        assert!(is_too_much());
        sent.answer_completed();
        assert!(is_too_much());
        sent.buffer_sent();
        assert!(!is_too_much());

        let broken_off = answering(Some(1_001));
        assert!(is_too_much());
        drop(broken_off);
        assert!(!is_too_much());

        let streamed = answering(None);
        streamed.bytes_taken(10_000);
        assert!(!is_too_much());
    }

    #[tokio::test(start_paused = true)]
    async fn idle_connection_is_closed_after_the_drain_grace_period() {
        let activity = answering(Some(1));
        activity.answer_completed();
        activity.buffer_sent();
        let now = Instant::now();
        let draining = ServingState {
            draining_since: Some(now),
            ..ServingState::default()
        };
        assert_eq!(activity.deadline(&draining), Some(now + 2 * SECOND));
        assert_eq!(
            activity.deadline(&ServingState::default()),
            Some(now + 300 * SECOND)
        );
    }

    #[tokio::test(start_paused = true)]
    async fn only_an_unfinished_response_can_be_aborted() {
        let activity = answering(None);
        activity.answer_completed();
        assert!(activity.unfinished_answer().is_some());
        activity.buffer_sent();
        assert!(activity.unfinished_answer().is_none());
    }
}
