//! The projects that keys reach, as everything that was committed before left them.

use std::convert::Infallible;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use diesel::prelude::{ExpressionMethods, QueryDsl, SelectableHelper};
use keyward_domain::id::{MembershipId, ProjectId};
use keyward_domain::page::{Page, PageRequest};
use keyward_domain::ports::{ReachableProjects, StorageError};
use keyward_domain::project::Project;

use super::super::dialect::{Connection, RunQueryDsl, Store, in_organization_of_membership};
use super::super::schema::{memberships, project_members, projects};
use super::super::validity::membership_is_live;
use super::row::ProjectRow;
use crate::abort::Abort;
use crate::columns::StoredId;
use crate::limit::one_more;

/// The projects that a consumer reaches at a moment. The rows of former members are gone; their membership is
/// asked for all the same.
macro_rules! reached {
    ($consumer:expr, $now:expr) => {
        project_members::table
            .inner_join(projects::table)
            .inner_join(memberships::table)
            .filter(project_members::membership_id.eq(StoredId($consumer.as_uuid())))
            .filter(membership_is_live($now.into()))
            .filter(in_organization_of_membership!())
            .filter(projects::archived_at.is_null())
    };
}

#[async_trait]
impl ReachableProjects for Store {
    async fn list(
        &self,
        consumer: MembershipId,
        page: PageRequest<ProjectId>,
        now: DateTime<Utc>,
    ) -> Result<Page<Project, ProjectId>, StorageError> {
        let (after, limit) = (page.after, one_more(page.size));
        let projects = read!(self, reached(consumer, None, after, limit, now))?;
        Ok(Page::from_one_more(projects, page.size, |project| project.id))
    }

    async fn find(
        &self,
        consumer: MembershipId,
        id: ProjectId,
        now: DateTime<Utc>,
    ) -> Result<Option<Project>, StorageError> {
        let mut projects = read!(self, reached(consumer, Some(id), None, 1, now))?;
        Ok(projects.pop())
    }

    async fn count(&self, consumer: MembershipId, now: DateTime<Utc>) -> Result<u64, StorageError> {
        read!(self, |connection| {
            let count: i64 = reached!(consumer, now).count().get_result(connection).await?;
            Ok(count.unsigned_abs())
        })
    }
}

/// The projects that the consumer reaches, by descending identifier.
async fn reached(
    connection: &mut Connection,
    consumer: MembershipId,
    only: Option<ProjectId>,
    after: Option<ProjectId>,
    limit: i64,
    now: DateTime<Utc>,
) -> Result<Vec<Project>, Abort<Infallible>> {
    let mut query = reached!(consumer, now)
        .order(project_members::project_id.desc())
        .limit(limit)
        .select(ProjectRow::as_select())
        .into_boxed();
    if let Some(id) = only {
        query = query.filter(project_members::project_id.eq(StoredId(id.as_uuid())));
    }
    if let Some(after) = after {
        query = query.filter(project_members::project_id.lt(StoredId(after.as_uuid())));
    }
    let rows: Vec<ProjectRow> = query.load(connection).await?;
    let projects: Result<Vec<Project>, StorageError> = rows.into_iter().map(Project::try_from).collect();
    Ok(projects?)
}
