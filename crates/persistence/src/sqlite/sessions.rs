//! Console sessions. One that has ended is deleted; the audit log remembers it.

use std::convert::Infallible;
use std::net::IpAddr;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use diesel::OptionalExtension;
use diesel::prelude::{
    ExpressionMethods, QueryDsl, Queryable, RunQueryDsl, Selectable, SelectableHelper, SqliteConnection,
};
use diesel::sqlite::Sqlite;
use keyward_domain::audit::{Act, AuditEvent};
use keyward_domain::id::{SessionId, UserId};
use keyward_domain::ports::StorageError;
use keyward_domain::sign_in::UserAgent;
use keyward_domain::sign_in::ports::{NewSession, SessionStore, StartSessionError};
use keyward_domain::sign_in::session::{Session, SessionDigest, SignedIn};

use super::audit_log::{write_event, write_events};
use super::columns::{StoredId, moment};
use super::people::UserRow;
use super::reserve::Claim;
use super::schema::{sessions, users};
use super::store::SqliteStore;
use crate::abort::Abort;
use crate::ended_sessions::{ended_by_one_more, events_of_ends};
use crate::stored_row::StoredRow;

#[async_trait]
impl SessionStore for SqliteStore {
    async fn start(&self, new: NewSession, events: Vec<AuditEvent>) -> Result<(), StartSessionError> {
        self.change_with(Claim::SigningIn, move |connection| start(connection, new, events))
            .await
    }

    async fn find(&self, digest: &SessionDigest) -> Result<Option<SignedIn>, StorageError> {
        let digest = *digest;
        self.read(move |connection| find(connection, digest)).await
    }

    async fn list(&self, user: UserId) -> Result<Vec<Session>, StorageError> {
        self.read(move |connection| list(connection, user)).await
    }

    async fn seen(&self, session: SessionId, at: DateTime<Utc>) -> Result<(), StorageError> {
        self.change(move |connection| seen(connection, session, at)).await
    }

    async fn end(&self, user: UserId, session: SessionId, event: AuditEvent) -> Result<bool, StorageError> {
        self.change_with(Claim::Revoking, move |connection| {
            end(connection, user, session, event)
        })
        .await
    }

    async fn end_others(&self, user: UserId, keep: SessionId, act: Act) -> Result<usize, StorageError> {
        self.change_with(Claim::Revoking, move |connection| {
            end_others(connection, user, keep, act)
        })
        .await
    }
}

fn start(
    connection: &mut SqliteConnection,
    new: NewSession,
    events: Vec<AuditEvent>,
) -> Result<(), Abort<StartSessionError>> {
    let NewSession {
        session,
        digest,
        verified_against,
        replaces,
        act,
    } = new;
    // No session outlives the password that started it: a replacement comes before this transaction, and then the hash
    // is another one; or after it, and then ends the new session with the others.
    let current: Option<String> = users::table
        .filter(users::id.eq(StoredId(session.user_id.as_uuid())))
        .select(users::password_hash)
        .get_result(connection)
        .optional()?;
    if current.as_deref() != Some(verified_against.as_str()) {
        return Err(Abort::Refused(StartSessionError::PasswordReplaced));
    }
    if let Some(replaced) = replaces {
        end_replaced(connection, replaced, &act)?;
    }
    end_oldest(connection, session.user_id, &act)?;
    diesel::insert_into(sessions::table)
        .values((
            sessions::id.eq(StoredId(session.id.as_uuid())),
            sessions::user_id.eq(StoredId(session.user_id.as_uuid())),
            sessions::digest.eq(digest.as_bytes().as_slice()),
            sessions::started_at.eq(session.started_at.timestamp_millis()),
            sessions::last_seen_at.eq(session.last_seen_at.timestamp_millis()),
            sessions::started_from.eq(session.started_from.map(|address| address.to_string())),
            sessions::user_agent.eq(session.user_agent.as_ref().map(UserAgent::as_str)),
        ))
        .execute(connection)?;
    write_events(connection, events)?;
    Ok(())
}

/// Makes room for one more session of the user.
fn end_oldest(
    connection: &mut SqliteConnection,
    user: UserId,
    act: &Act,
) -> Result<(), Abort<StartSessionError>> {
    let of_user = sessions::table.filter(sessions::user_id.eq(StoredId(user.as_uuid())));
    let too_many: Vec<SessionRow> = of_user
        .order((sessions::started_at, sessions::id))
        .limit(ended_by_one_more(of_user.count().get_result(connection)?))
        .select(SessionRow::as_select())
        .load(connection)?;
    for session in &too_many {
        diesel::delete(sessions::table.filter(sessions::id.eq(session.id))).execute(connection)?;
    }
    write_end_events(connection, too_many, act)?;
    Ok(())
}

fn end_replaced(
    connection: &mut SqliteConnection,
    digest: SessionDigest,
    act: &Act,
) -> Result<(), Abort<StartSessionError>> {
    let ended: Option<SessionRow> = sessions::table
        .filter(sessions::digest.eq(digest.as_bytes().as_slice()))
        .select(SessionRow::as_select())
        .get_result(connection)
        .optional()?;
    let Some(ended) = ended else { return Ok(()) };
    diesel::delete(sessions::table.filter(sessions::id.eq(ended.id))).execute(connection)?;
    let session = Session::try_from(ended)?;
    if session.is_live(act.at) {
        write_event(connection, act.end_of_replaced(&session))?;
    }
    Ok(())
}

fn find(
    connection: &mut SqliteConnection,
    digest: SessionDigest,
) -> Result<Option<SignedIn>, Abort<Infallible>> {
    let rows: Option<(SessionRow, UserRow)> = sessions::table
        .inner_join(users::table)
        .filter(sessions::digest.eq(digest.as_bytes().as_slice()))
        .select((SessionRow::as_select(), UserRow::as_select()))
        .get_result(connection)
        .optional()?;
    let Some((session, user)) = rows else {
        return Ok(None);
    };
    Ok(Some(SignedIn {
        session: session.try_into()?,
        user: user.try_into()?,
    }))
}

fn list(connection: &mut SqliteConnection, user: UserId) -> Result<Vec<Session>, Abort<Infallible>> {
    let rows: Vec<SessionRow> = sessions::table
        .filter(sessions::user_id.eq(StoredId(user.as_uuid())))
        .order(sessions::id.desc())
        .select(SessionRow::as_select())
        .load(connection)?;
    let sessions: Result<_, StorageError> = rows.into_iter().map(Session::try_from).collect();
    Ok(sessions?)
}

fn seen(
    connection: &mut SqliteConnection,
    session: SessionId,
    at: DateTime<Utc>,
) -> Result<(), Abort<StorageError>> {
    diesel::update(
        sessions::table
            .filter(sessions::id.eq(StoredId(session.as_uuid())))
            .filter(sessions::last_seen_at.lt(at.timestamp_millis())),
    )
    .set(sessions::last_seen_at.eq(at.timestamp_millis()))
    .execute(connection)?;
    Ok(())
}

fn end(
    connection: &mut SqliteConnection,
    user: UserId,
    session: SessionId,
    event: AuditEvent,
) -> Result<bool, Abort<StorageError>> {
    let ended: Option<SessionRow> = diesel::delete(
        sessions::table
            .filter(sessions::user_id.eq(StoredId(user.as_uuid())))
            .filter(sessions::id.eq(StoredId(session.as_uuid()))),
    )
    .returning(SessionRow::as_returning())
    .get_result(connection)
    .optional()?;
    let was_live = match ended {
        Some(row) => Session::try_from(row)?.is_live(event.at),
        None => false,
    };
    if was_live {
        write_event(connection, event)?;
    }
    Ok(was_live)
}

fn end_others(
    connection: &mut SqliteConnection,
    user: UserId,
    keep: SessionId,
    act: Act,
) -> Result<usize, Abort<StorageError>> {
    let kept: Option<StoredId> = sessions::table
        .filter(sessions::user_id.eq(StoredId(user.as_uuid())))
        .filter(sessions::id.eq(StoredId(keep.as_uuid())))
        .select(sessions::id)
        .get_result(connection)
        .optional()?;
    if kept.is_none() {
        return Ok(0);
    }
    let others: Vec<SessionRow> = diesel::delete(
        sessions::table
            .filter(sessions::user_id.eq(StoredId(user.as_uuid())))
            .filter(sessions::id.ne(StoredId(keep.as_uuid()))),
    )
    .returning(SessionRow::as_returning())
    .get_results(connection)?;
    write_end_events(connection, others, &act)
}

/// Writes the ends of sessions that were live. Returns how many were.
fn write_end_events<E>(
    connection: &mut SqliteConnection,
    ended: Vec<SessionRow>,
    act: &Act,
) -> Result<usize, Abort<E>> {
    let ended: Result<Vec<Session>, StorageError> = ended.into_iter().map(Session::try_from).collect();
    let events = events_of_ends(ended?, act);
    let live = events.len();
    write_events(connection, events)?;
    Ok(live)
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = sessions, check_for_backend(Sqlite))]
struct SessionRow {
    id: StoredId,
    user_id: StoredId,
    started_at: i64,
    last_seen_at: i64,
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
            started_at: stored.read("started_at", moment(row.started_at))?,
            last_seen_at: stored.read("last_seen_at", moment(row.last_seen_at))?,
            started_from: stored.read("started_from", address.transpose())?,
            user_agent: row.user_agent.as_deref().and_then(UserAgent::from_header),
        })
    }
}
