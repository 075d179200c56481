//! The confirmation page for leaving an organization, with a preview of what stops working.

use std::sync::Arc;

use askama::Template;
use futures_util::future::join;
use keyward_domain::administration::ports::EndMembershipError;
use keyward_domain::api_key::ApiKey;
use poem::http::StatusCode;
use poem::web::Data;
use poem::{Response, handler};

use crate::Console;
use crate::answer::html;
use crate::flash::Message;
use crate::forms::{MemberForm, Sent};
use crate::pages::filters;
use crate::pages::membership_end_preview::{MembershipEndPreview, if_counted};
use crate::pages::settings::{Section, Settings};
use crate::paths;
use crate::reader::Member;
use crate::refusal::Refusal;

#[derive(Template)]
#[template(path = "leave.html")]
struct LeavePage {
    settings: Settings,
    stops: MembershipEndPreview<ApiKey>,
    confirmation_missing: bool,
    /// The viewer is the last permanent owner, who cannot leave.
    is_last_owner: bool,
    /// The viewer just tried to leave and was refused.
    was_refused: bool,
}

#[handler]
pub(crate) async fn show(member: Member) -> Result<Response, Refusal> {
    page(&member, StatusCode::OK).await
}

#[handler]
pub(crate) async fn submit(
    Data(console): Data<&Arc<Console>>,
    form: poem::Result<MemberForm>,
) -> poem::Result<Response> {
    match form {
        Ok(form) => Ok(leave(form).await?),
        Err(refused) => {
            if let Some(Refusal::NotFound) = refused.downcast_ref() {
                console.members.gone_everywhere().await;
            }
            Err(refused)
        }
    }
}

async fn leave(Sent(member, form, source): MemberForm) -> Result<Response, Refusal> {
    if !form.is_confirmed() {
        return page(&member, StatusCode::UNPROCESSABLE_ENTITY).await;
    }
    match member.console.members.leave(&member.member, source).await {
        Ok(()) => Ok(member.redirect(paths::Home, Message::Left)),
        Err(EndMembershipError::LastOwner) => page(&member, StatusCode::CONFLICT).await,
        Err(error) => Err(error.into()),
    }
}

async fn page(member: &Member, status: StatusCode) -> Result<Response, Refusal> {
    let is_last_owner = member.console.members.is_last_owner(&member.member.membership);
    let (is_last_owner, stops) = join(is_last_owner, MembershipEndPreview::on_leaving(member)).await;
    let was_refused = status == StatusCode::CONFLICT;
    let page = LeavePage {
        settings: Settings::new(member, Section::General),
        stops,
        confirmation_missing: status == StatusCode::UNPROCESSABLE_ENTITY,
        // If this is unknown now, the attempt to leave will be refused with the reason.
        is_last_owner: was_refused || if_counted(is_last_owner).unwrap_or(false),
        was_refused,
    };
    Ok(html(status, &page)?)
}
