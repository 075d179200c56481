//! Finding and listing members.

use std::convert::Infallible;

use diesel::OptionalExtension;
use diesel::prelude::{ExpressionMethods, QueryDsl, SelectableHelper, TextExpressionMethods};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use keyward_domain::administration::ports::{KeyHolder, MemberFilter, MemberOverview, WhichMember};
use keyward_domain::id::{MembershipId, OrganizationId};
use keyward_domain::page::{Page, PageRequest};
use keyward_domain::ports::StorageError;

use crate::abort::Abort;
use crate::limit::one_more;
use crate::postgres::people::{MembershipRow, UserRow};
use crate::postgres::schema::{api_keys, memberships, project_members, projects, users};
use crate::postgres::search::{coalesce, containing};
use crate::stored_row::counted;

/// Which live members of an organization.
struct Selection {
    only: Option<MembershipId>,
    after: Option<MembershipId>,
    pattern: Option<String>,
    limit: i64,
}

pub(super) async fn find(
    connection: &mut AsyncPgConnection,
    organization: OrganizationId,
    id: MembershipId,
) -> Result<Option<MemberOverview>, Abort<Infallible>> {
    let selection = Selection {
        only: Some(id),
        after: None,
        pattern: None,
        limit: 1,
    };
    Ok(select(connection, organization, selection).await?.pop())
}

pub(super) async fn identify(
    connection: &mut AsyncPgConnection,
    organization: OrganizationId,
    member: WhichMember,
) -> Result<Option<KeyHolder>, Abort<Infallible>> {
    let mut query = memberships::table
        .inner_join(users::table)
        .filter(memberships::organization_id.eq(organization.as_uuid()))
        .filter(memberships::ended_at.is_null())
        .select((UserRow::as_select(), MembershipRow::as_select()))
        .into_boxed();
    query = match member {
        WhichMember::Id(id) => query.filter(memberships::id.eq(id.as_uuid())),
        WhichMember::Username(username) => query.filter(users::username.eq(username.to_string())),
    };
    let row: Option<(UserRow, MembershipRow)> = query.get_result(connection).await.optional()?;
    let holder = row.map(|(user, membership)| {
        Ok::<_, StorageError>(KeyHolder {
            user: user.try_into()?,
            membership: membership.try_into()?,
        })
    });
    Ok(holder.transpose()?)
}

pub(super) async fn list(
    connection: &mut AsyncPgConnection,
    organization: OrganizationId,
    filter: MemberFilter,
    page: PageRequest<MembershipId>,
) -> Result<Page<MemberOverview, MembershipId>, Abort<Infallible>> {
    let pattern = filter.term().map(containing);
    let members = match pattern {
        Some(None) => Vec::new(),
        None | Some(Some(_)) => {
            let selection = Selection {
                only: None,
                after: page.after,
                pattern: pattern.flatten(),
                limit: one_more(page.size),
            };
            select(connection, organization, selection).await?
        }
    };
    Ok(Page::from_one_more(members, page.size, |member| {
        member.membership.id
    }))
}

/// By falling identifier; one statement, so that all of it is of one moment.
async fn select(
    connection: &mut AsyncPgConnection,
    organization: OrganizationId,
    selection: Selection,
) -> Result<Vec<MemberOverview>, Abort<Infallible>> {
    let valid_keys = api_keys::table
        .filter(api_keys::consumer_id.eq(memberships::id))
        .filter(api_keys::revoked_at.is_null())
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
        .filter(memberships::organization_id.eq(organization.as_uuid()))
        .filter(memberships::ended_at.is_null())
        .order(memberships::id.desc())
        .limit(selection.limit)
        .select((
            UserRow::as_select(),
            MembershipRow::as_select(),
            valid_keys,
            active_projects,
        ))
        .into_boxed();
    if let Some(id) = selection.only {
        query = query.filter(memberships::id.eq(id.as_uuid()));
    }
    if let Some(after) = selection.after {
        query = query.filter(memberships::id.lt(after.as_uuid()));
    }
    if let Some(pattern) = selection.pattern {
        query = query.filter(coalesce(users::search_text, users::username).like(pattern));
    }
    let rows: Vec<(UserRow, MembershipRow, Option<i64>, Option<i64>)> = query.load(connection).await?;
    let members: Result<Vec<MemberOverview>, StorageError> = rows
        .into_iter()
        .map(|(user, membership, valid_keys, projects)| {
            Ok(MemberOverview {
                user: user.try_into()?,
                membership: membership.try_into()?,
                valid_keys: counted(valid_keys),
                projects: counted(projects),
            })
        })
        .collect();
    Ok(members?)
}
