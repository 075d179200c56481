use async_trait::async_trait;
use chrono::{DateTime, Utc};
use keyward_domain::audit::{Act, AuditEvent};
use keyward_domain::id::{SessionId, UserId};
use keyward_domain::ports::StorageError;
use keyward_domain::sign_in::ports::{NewSession, SessionStore, SignInError};
use keyward_domain::sign_in::session::{Session, SessionDigest, SignedIn};

use super::{BrokenStore, Secret, lock};

#[async_trait]
impl SessionStore for BrokenStore {
    async fn start(&self, new: NewSession, events: Vec<AuditEvent>) -> Result<(), SignInError> {
        self.keep_digest(Secret::Session, new.digest.as_bytes());
        lock(&self.sessions).insert(new.session.id, new.digest);
        self.sound.start(new, events).await
    }

    async fn find(&self, digest: &SessionDigest) -> Result<Option<SignedIn>, StorageError> {
        let digest = SessionDigest::from_bytes(self.taken_for(Secret::Session, digest.as_bytes()));
        let found = SessionStore::find(&self.sound, &digest).await?;
        Ok(found.map(|found| SignedIn {
            session: self.session_as_read(found.session),
            user: self.user_as_read(found.user),
        }))
    }

    async fn list(&self, user: UserId) -> Result<Vec<Session>, StorageError> {
        let listed = SessionStore::list(&self.sound, user).await?;
        Ok(listed
            .into_iter()
            .map(|session| self.session_as_read(session))
            .collect())
    }

    async fn seen(&self, session: SessionId, at: DateTime<Utc>) -> Result<(), StorageError> {
        self.sound.seen(session, at).await
    }

    async fn end(&self, user: UserId, session: SessionId, event: AuditEvent) -> Result<bool, StorageError> {
        SessionStore::end(&self.sound, user, session, event).await
    }

    async fn end_others(&self, user: UserId, keep: SessionId, act: Act) -> Result<usize, StorageError> {
        self.sound.end_others(user, keep, act).await
    }
}
