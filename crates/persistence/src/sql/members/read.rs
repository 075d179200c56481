//! Finding and listing members.

use std::convert::Infallible;

use chrono::{DateTime, Utc};
use diesel::prelude::{ExpressionMethods, QueryDsl, SelectableHelper};
use keyward_domain::administration::ports::{MemberFilter, MemberOverview};
use keyward_domain::id::{MembershipId, OrganizationId};
use keyward_domain::page::{Page, PageRequest, PageSize};
use keyward_domain::ports::StorageError;

use super::super::dialect::{Connection, RunQueryDsl, cancellable, contains, named};
use super::super::people::{MembershipRow, UserRow};
use super::super::schema::{api_keys, memberships, project_members, projects, users};
use super::super::validity::{key_is_valid, membership_is_live};
use crate::abort::Abort;
use crate::columns::StoredId;
use crate::limit::one_more;
use crate::search::is_in_no_text;
use crate::stored_row::count_or_zero;

pub(super) async fn find(
    connection: &mut Connection,
    organization: OrganizationId,
    id: MembershipId,
    now: DateTime<Utc>,
) -> Result<Option<MemberOverview>, Abort<Infallible>> {
    let (filter, page) = (MemberFilter::default(), PageRequest::first(PageSize::ONE));
    let found = select(connection, organization, Some(id), &filter, page, now).await?;
    Ok(found.into_iter().next())
}

pub(super) async fn list(
    connection: &mut Connection,
    organization: OrganizationId,
    filter: MemberFilter,
    page: PageRequest<MembershipId>,
    now: DateTime<Utc>,
) -> Result<Page<MemberOverview, MembershipId>, Abort<Infallible>> {
    let members = match filter.term().or(filter.name()) {
        Some(term) if is_in_no_text(term) => Vec::new(),
        _ => select(connection, organization, None, &filter, page, now).await?,
    };
    Ok(Page::from_one_more(members, page.size, |member| {
        member.membership.id
    }))
}

/// By descending identifier, with one more than the page has; one statement, so that all of it is of one
/// moment.
async fn select(
    connection: &mut Connection,
    organization: OrganizationId,
    only: Option<MembershipId>,
    filter: &MemberFilter,
    page: PageRequest<MembershipId>,
    now: DateTime<Utc>,
) -> Result<Vec<MemberOverview>, Abort<Infallible>> {
    let valid_keys = api_keys::table
        .filter(api_keys::consumer_id.eq(memberships::id))
        .filter(key_is_valid(now.into()))
        .count()
        .single_value();
    let active_projects = project_members::table
        .inner_join(projects::table)
        .filter(project_members::membership_id.eq(memberships::id))
        .filter(projects::archived_at.is_null())
        .count()
        .single_value();
    let mut query = memberships::table
        .inner_join(users::table)
        .filter(memberships::organization_id.eq(StoredId(organization.as_uuid())))
        .filter(membership_is_live(now.into()))
        .order(memberships::id.desc())
        .limit(one_more(page.size))
        .select((
            UserRow::as_select(),
            MembershipRow::as_select(),
            valid_keys,
            active_projects,
        ))
        .into_boxed();
    if let Some(id) = only {
        query = query.filter(memberships::id.eq(StoredId(id.as_uuid())));
    }
    if let Some(after) = page.after {
        query = query.filter(memberships::id.lt(StoredId(after.as_uuid())));
    }
    if let Some(term) = filter.term() {
        query = cancellable!(query, memberships::id).filter(contains!(users::search_text, term));
    }
    if let Some(name) = filter.name() {
        query = cancellable!(query, memberships::id).filter(named!(users::search_text, name));
    }
    let rows: Vec<(UserRow, MembershipRow, Option<i64>, Option<i64>)> = query.load(connection).await?;
    let members: Result<Vec<MemberOverview>, StorageError> = rows
        .into_iter()
        .map(|(user, membership, valid_keys, projects)| {
            Ok(MemberOverview {
                user: user.try_into()?,
                membership: membership.try_into()?,
                valid_keys: count_or_zero(valid_keys),
                projects: count_or_zero(projects),
            })
        })
        .collect();
    Ok(members?)
}
