//! Console sessions. One that has ended is deleted; the audit log remembers it.

use std::net::IpAddr;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use diesel::OptionalExtension;
use diesel::prelude::{ExpressionMethods, QueryDsl, Queryable, Selectable, SelectableHelper};
use keyward_domain::audit::{Act, AuditEvent};
use keyward_domain::id::{SessionId, UserId};
use keyward_domain::ports::StorageError;
use keyward_domain::sign_in::UserAgent;
use keyward_domain::sign_in::ports::{NewSession, SessionStore, SignInError};
use keyward_domain::sign_in::session::{Session, SessionDigest, SignedIn};

use super::dialect::{Connection, Database, RunQueryDsl, Store, kept, locked, write_events};
use super::events::write_event;
use super::people::UserRow;
use super::schema::{sessions, users};
use crate::abort::Abort;
use crate::claim::Claim;
use crate::columns::{StoredId, StoredMoment};
use crate::ended_sessions::{ended_by_one_more, events_of_ends};
use crate::stored_row::StoredRow;

#[async_trait]
impl SessionStore for Store {
    async fn start(&self, new: NewSession, events: Vec<AuditEvent>) -> Result<(), SignInError> {
        change!(self, Claim::SigningIn, |connection| {
            let NewSession {
                session,
                digest,
                verified_against,
                replaces,
                act,
            } = new;
            // A session must not outlive the password that started it. A concurrent password change either
            // waits for this lock and then ends the new session too, or holds the lock first, and then this
            // reads the new hash. The lock also serializes sign-ins of one user, so that each counts the
            // earlier sessions.
            let current: Option<String> = locked!(
                users::table
                    .filter(users::id.eq(StoredId(session.user_id.as_uuid())))
                    .select(users::password_hash)
            )
            .get_result(connection)
            .await
            .optional()?;
            if current.as_deref() != Some(verified_against.as_str()) {
                return Err(Abort::Refused(SignInError::WrongCredentials));
            }
            if let Some(replaced) = replaces {
                end_replaced(connection, replaced, &act).await?;
            }
            end_oldest(connection, session.user_id, &act).await?;
            diesel::insert_into(sessions::table)
                .values((
                    sessions::id.eq(StoredId(session.id.as_uuid())),
                    sessions::user_id.eq(StoredId(session.user_id.as_uuid())),
                    sessions::digest.eq(digest.as_bytes().as_slice()),
                    sessions::started_at.eq(StoredMoment::from(session.started_at)),
                    sessions::last_seen_at.eq(StoredMoment::from(session.last_seen_at)),
                    sessions::started_from.eq(session.started_from.map(|address| address.to_string())),
                    sessions::user_agent.eq(session.user_agent.as_ref().map(UserAgent::as_str)),
                ))
                .execute(connection)
                .await?;
            write_events(connection, events).await?;
            Ok(())
        })
    }

    async fn find(&self, digest: &SessionDigest) -> Result<Option<SignedIn>, StorageError> {
        let digest = *digest;
        read!(self, |connection| {
            let rows: Option<(SessionRow, UserRow)> = sessions::table
                .inner_join(users::table)
                .filter(sessions::digest.eq(digest.as_bytes().as_slice()))
                .select((SessionRow::as_select(), UserRow::as_select()))
                .get_result(connection)
                .await
                .optional()?;
            let Some((session, user)) = rows else {
                return Ok(None);
            };
            Ok(Some(SignedIn {
                session: session.try_into()?,
                user: user.try_into()?,
            }))
        })
    }

    async fn list(&self, user: UserId) -> Result<Vec<Session>, StorageError> {
        read!(self, |connection| {
            let rows: Vec<SessionRow> = sessions::table
                .filter(sessions::user_id.eq(StoredId(user.as_uuid())))
                .order(sessions::id.desc())
                .select(SessionRow::as_select())
                .load(connection)
                .await?;
            let sessions: Result<_, StorageError> = rows.into_iter().map(Session::try_from).collect();
            Ok(sessions?)
        })
    }

    async fn seen(&self, session: SessionId, at: DateTime<Utc>) -> Result<(), StorageError> {
        change!(self, |connection| {
            diesel::update(
                sessions::table
                    .filter(sessions::id.eq(StoredId(session.as_uuid())))
                    .filter(sessions::last_seen_at.lt(StoredMoment::from(at))),
            )
            .set(sessions::last_seen_at.eq(StoredMoment::from(at)))
            .execute(connection)
            .await?;
            Ok(())
        })
    }

    async fn end(&self, user: UserId, session: SessionId, event: AuditEvent) -> Result<bool, StorageError> {
        change!(self, Claim::Revoking, |connection| {
            let ended: Option<SessionRow> = diesel::delete(
                sessions::table
                    .filter(sessions::user_id.eq(StoredId(user.as_uuid())))
                    .filter(sessions::id.eq(StoredId(session.as_uuid()))),
            )
            .returning(SessionRow::as_returning())
            .get_result(connection)
            .await
            .optional()?;
            let was_live = match ended {
                Some(row) => Session::try_from(row)?.is_live(event.at),
                None => false,
            };
            if was_live {
                write_event(connection, event).await?;
            }
            Ok(was_live)
        })
    }

    async fn end_others(&self, user: UserId, keep: SessionId, act: Act) -> Result<usize, StorageError> {
        change!(self, Claim::Revoking, |connection| {
            // If two sessions end all others at once, the lock serializes them, and the second has already
            // ended.
            locked!(
                users::table
                    .filter(users::id.eq(StoredId(user.as_uuid())))
                    .select(users::id)
            )
            .get_result::<StoredId>(connection)
            .await
            .optional()?;
            // The acting session cannot end during this transaction either.
            let kept: Option<StoredId> = kept!(
                sessions::table
                    .filter(sessions::user_id.eq(StoredId(user.as_uuid())))
                    .filter(sessions::id.eq(StoredId(keep.as_uuid())))
                    .select(sessions::id)
            )
            .get_result(connection)
            .await
            .optional()?;
            if kept.is_none() {
                return Ok(0);
            }
            // Only sessions deleted here get an event: any of them may end concurrently, which writes its own
            // event.
            let others: Vec<SessionRow> = diesel::delete(
                sessions::table
                    .filter(sessions::user_id.eq(StoredId(user.as_uuid())))
                    .filter(sessions::id.ne(StoredId(keep.as_uuid()))),
            )
            .returning(SessionRow::as_returning())
            .get_results(connection)
            .await?;
            write_end_events(connection, others, &act).await
        })
    }
}

/// Ends the oldest sessions of the user, so that one more can start.
async fn end_oldest(connection: &mut Connection, user: UserId, act: &Act) -> Result<(), Abort<SignInError>> {
    let of_user = sessions::table.filter(sessions::user_id.eq(StoredId(user.as_uuid())));
    let too_many = ended_by_one_more(of_user.count().get_result(connection).await?);
    if too_many == 0 {
        return Ok(());
    }
    let too_many: Vec<StoredId> = of_user
        .order((sessions::started_at, sessions::id))
        .limit(too_many)
        .select(sessions::id)
        .load(connection)
        .await?;
    let ended: Vec<SessionRow> = diesel::delete(sessions::table.filter(sessions::id.eq_any(too_many)))
        .returning(SessionRow::as_returning())
        .get_results(connection)
        .await?;
    write_end_events(connection, ended, act).await?;
    Ok(())
}

async fn end_replaced(
    connection: &mut Connection,
    digest: SessionDigest,
    act: &Act,
) -> Result<(), Abort<SignInError>> {
    let ended: Option<SessionRow> =
        diesel::delete(sessions::table.filter(sessions::digest.eq(digest.as_bytes().as_slice())))
            .returning(SessionRow::as_returning())
            .get_result(connection)
            .await
            .optional()?;
    let ended = ended.map(Session::try_from).transpose()?;
    if let Some(session) = ended.filter(|session| session.is_live(act.at)) {
        write_event(connection, act.end_of_replaced(&session)).await?;
    }
    Ok(())
}

/// Writes an event for each ended session that was live; returns their number.
async fn write_end_events<E>(
    connection: &mut Connection,
    ended: Vec<SessionRow>,
    act: &Act,
) -> Result<usize, Abort<E>> {
    let ended: Result<Vec<Session>, StorageError> = ended.into_iter().map(Session::try_from).collect();
    let events = events_of_ends(ended?, act);
    let live = events.len();
    write_events(connection, events).await?;
    Ok(live)
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = sessions, check_for_backend(Database))]
struct SessionRow {
    id: StoredId,
    user_id: StoredId,
    started_at: StoredMoment,
    last_seen_at: StoredMoment,
    started_from: Option<String>,
    user_agent: Option<String>,
}

impl TryFrom<SessionRow> for Session {
    type Error = StorageError;

    fn try_from(row: SessionRow) -> Result<Self, StorageError> {
        let stored = StoredRow::new("sessions", row.id.0);
        let address = row.started_from.map(|address| address.parse::<IpAddr>());
        Ok(Self {
            id: SessionId::from_uuid(row.id.0),
            user_id: UserId::from_uuid(row.user_id.0),
            started_at: stored.moment("started_at", row.started_at)?,
            last_seen_at: stored.moment("last_seen_at", row.last_seen_at)?,
            started_from: stored.read("started_from", address.transpose())?,
            user_agent: row.user_agent.as_deref().and_then(UserAgent::from_header),
        })
    }
}
