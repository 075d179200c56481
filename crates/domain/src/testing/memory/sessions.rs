use std::cmp::Reverse;

use async_trait::async_trait;
use chrono::{DateTime, Utc};

use super::{MemoryStore, StoredSession};
use crate::audit::{Act, Action, AuditEvent, Subject};
use crate::id::{SessionId, UserId};
use crate::ports::StorageError;
use crate::sign_in::accounts::Account;
use crate::sign_in::ports::{NewSession, SessionStore, SignInError};
use crate::sign_in::session::{Session, SessionDigest, SignedIn};

#[async_trait]
impl SessionStore for MemoryStore {
    async fn start(&self, new: NewSession, mut events: Vec<AuditEvent>) -> Result<(), SignInError> {
        let mut state = self.state()?;
        let is_current = |account: &Account| {
            account.user.id == new.session.user_id && account.password_hash == new.verified_against
        };
        if !state.accounts.iter().any(is_current) {
            return Err(SignInError::WrongCredentials);
        }
        let NewSession {
            session,
            digest,
            replaces,
            act,
            ..
        } = new;
        let (replaced, others): (Vec<&StoredSession>, Vec<&StoredSession>) = state
            .sessions
            .iter()
            .partition(|stored| Some(stored.digest) == replaces);
        let is_live = |session: &&Session| session.is_live(act.at);
        let replaced = replaced.iter().map(|stored| &stored.session).filter(is_live);
        events.extend(replaced.map(|session| act.end_of_replaced(session)));

        let others = others.iter().map(|stored| &stored.session);
        let mut of_user: Vec<&Session> = others.filter(|other| other.user_id == session.user_id).collect();
        of_user.sort_by_key(|session| (session.started_at, session.id));
        let too_many = of_user.len().saturating_sub(Session::MAX_PER_USER - 1);
        let ended = of_user.into_iter().take(too_many.min(Session::MAX_ENDED_AT_ONCE));
        let ended: Vec<Session> = ended.cloned().collect();
        let live = ended.iter().filter(is_live);
        events.extend(live.map(|session| act.event(Action::EndSession, Subject::Session(session.id))));

        state.write(events)?;
        let is_ended = |id: SessionId| ended.iter().any(|session| session.id == id);
        state
            .sessions
            .retain(|stored| Some(stored.digest) != replaces && !is_ended(stored.session.id));
        state.sessions.push(StoredSession { session, digest });
        Ok(())
    }

    async fn find(&self, digest: &SessionDigest) -> Result<Option<SignedIn>, StorageError> {
        let state = self.state()?;
        let found = state
            .sessions
            .iter()
            .find(|stored| stored.digest == *digest)
            .and_then(|stored| {
                let user = state.user(stored.session.user_id)?.clone();
                Some(SignedIn {
                    session: stored.session.clone(),
                    user,
                })
            });
        Ok(found)
    }

    async fn list(&self, user: UserId) -> Result<Vec<Session>, StorageError> {
        let state = self.state()?;
        let of_user = state
            .sessions
            .iter()
            .map(|stored| &stored.session)
            .filter(|session| session.user_id == user);
        let mut sessions: Vec<Session> = of_user.cloned().collect();
        sessions.sort_by_key(|session| Reverse(session.id));
        Ok(sessions)
    }

    async fn seen(&self, session: SessionId, at: DateTime<Utc>) -> Result<(), StorageError> {
        let mut state = self.state()?;
        state.write(Vec::new())?;
        for stored in state
            .sessions
            .iter_mut()
            .filter(|stored| stored.session.id == session)
        {
            stored.session.last_seen_at = stored.session.last_seen_at.max(at);
        }
        Ok(())
    }

    async fn end(&self, user: UserId, session: SessionId, event: AuditEvent) -> Result<bool, StorageError> {
        let mut state = self.state()?;
        let is_meant =
            |stored: &StoredSession| stored.session.user_id == user && stored.session.id == session;
        let found = state.sessions.iter().find(|stored| is_meant(stored));
        let was_live = found.is_some_and(|stored| stored.session.is_live(event.at));
        if was_live {
            state.write(vec![event])?;
        }
        state.sessions.retain(|stored| !is_meant(stored));
        Ok(was_live)
    }

    async fn end_others(&self, user: UserId, keep: SessionId, act: Act) -> Result<usize, StorageError> {
        let mut state = self.state()?;
        let is_kept = |stored: &StoredSession| stored.session.user_id == user && stored.session.id == keep;
        if !state.sessions.iter().any(is_kept) {
            return Ok(0);
        }
        let is_other = |session: &Session| session.user_id == user && session.id != keep;
        let events: Vec<AuditEvent> = state
            .sessions
            .iter()
            .map(|stored| &stored.session)
            .filter(|session| is_other(session) && session.is_live(act.at))
            .map(|session| act.event(Action::EndSession, Subject::Session(session.id)))
            .collect();
        let ended = events.len();
        state.write(events)?;
        state.sessions.retain(|stored| !is_other(&stored.session));
        Ok(ended)
    }
}
