//! `/join`: taking the place that an invitation offers, from its one-time link.

use std::sync::Arc;

use askama::Template;
use chrono::{DateTime, Utc};
use keyward_domain::audit::RequestSource;
use keyward_domain::invitation::{Invitation, InvitationToken};
use keyward_domain::membership::{Member, Role};
use keyward_domain::organization::Organization;
use keyward_domain::sign_in::password::Password;
use keyward_domain::sign_in::ports::{AcceptAsNewcomerError, AcceptAsUserError, OpenInvitation};
use keyward_domain::sign_in::session::SignedIn;
use keyward_domain::sign_in::signing_in::SignInAttempt;
use poem::http::{HeaderValue, StatusCode, header};
use poem::web::Data;
use poem::{Request, Response, handler};

use crate::browser_cookie::BrowserCookie;
use crate::forms::{Fields, Form, Query};
use crate::invitation_cookie::InvitationCookie;
use crate::links::SignInNotice;
use crate::local_path::LocalPath;
use crate::pages::api_keys::after_joining;
use crate::pages::moment::Moment;
use crate::pages::newcomer_fields::NewcomerFields;
use crate::pages::sign_in::{sign_in_newcomer, user_agent};
use crate::pages::waiting::too_many;
use crate::pages::{html, redirect};
use crate::refusal::Refusal;
use crate::request_source::Source;
use crate::session_cookie::SessionCookie;
use crate::viewer::Visitor;
use crate::{Console, links};

/// The invitation, for somebody who is not signed in.
#[derive(Template)]
#[template(path = "join.html")]
struct JoinPage {
    offer: Offer,
    /// Leads to sign-in and back here.
    sign_in: String,
    fields: NewcomerFields,
    /// They wanted to join as somebody who is not signed in any more.
    was_signed_out: bool,
}

/// The invitation, for somebody who is signed in.
#[derive(Template)]
#[template(path = "join_signed_in.html")]
struct JoinSignedInPage {
    offer: Offer,
    name: String,
    username: String,
    /// Whom the page offered to join as that was sent, if it was somebody else.
    stale: Option<String>,
}

/// The link is for somebody who is not a member yet.
#[derive(Template)]
#[template(path = "join_as_member.html")]
struct AlreadyMemberPage {
    offer: Offer,
    username: String,
    organization_page: String,
}

/// The link cannot be used. Why is told to nobody.
#[derive(Template)]
#[template(path = "join_link_dead.html")]
struct LinkDead {
    /// Who is signed in, if anybody.
    username: Option<String>,
}

/// An invitation that can be used, and who made it.
struct Opened {
    invitation: Invitation,
    organization: Organization,
    /// What they are called; the command line is called nothing.
    inviter: Option<String>,
}

/// What an invitation offers, as its page tells.
struct Offer {
    inviter: Option<String>,
    token: String,
    organization: String,
    invitee: String,
    role: Role,
    expires: Moment,
}

#[handler]
pub(crate) async fn show(
    Data(console): Data<&Arc<Console>>,
    request: &Request,
    Visitor(visitor): Visitor,
    Query(query): Query,
) -> Result<Response, Refusal> {
    let token = match query.optional("token") {
        Some(text) => InvitationToken::parse(text),
        // They come back from signing in.
        None => InvitationCookie::of(&console.public_url).read(request.headers()),
    };
    let Some(token) = token else {
        return dead_link(visitor.as_ref());
    };
    let now = console.now();
    let Some(open) = Opened::find(console, &token, visitor.as_ref(), now).await? else {
        return dead_link(visitor.as_ref());
    };
    match visitor {
        None => {
            let page = JoinPage::new(&open, &token, NewcomerFields::default());
            Ok(keeping(console, &token, html(StatusCode::OK, &page)?))
        }
        Some(viewer) => offer_to_user(console, &open, &token, &viewer, None, now).await,
    }
}

/// The page for somebody who is signed in; anew, if it was sent as the page of another user.
async fn offer_to_user(
    console: &Console,
    open: &Opened,
    token: &InvitationToken,
    viewer: &SignedIn,
    stale: Option<&str>,
    now: DateTime<Utc>,
) -> Result<Response, Refusal> {
    let status = match stale {
        None => StatusCode::OK,
        Some(_) => StatusCode::CONFLICT,
    };
    if is_member(console, viewer, open, now).await? {
        return already_member(status, open, token, viewer);
    }
    let page = JoinSignedInPage {
        offer: Offer::new(open, token),
        name: viewer.user.display_name.to_string(),
        username: viewer.user.username.to_string(),
        stale: stale.map(str::to_owned),
    };
    html(status, &page)
}

#[handler]
pub(crate) async fn submit(
    Data(console): Data<&Arc<Console>>,
    Source(source): Source,
    request: &Request,
    Form(form): Form,
    // After the form, which may be long on its way: who sends it must still be signed in when it is here.
    Visitor(visitor): Visitor,
) -> Result<Response, Refusal> {
    let Some(token) = InvitationToken::parse(form.required("token")?) else {
        return dead_link(visitor.as_ref());
    };
    let joins_as = form.required("as")?;
    let joining_user = visitor.as_ref().filter(|_| joins_as == "user");
    let now = console.now();
    let Some(open) = Opened::find(console, &token, joining_user, now).await? else {
        return dead_link(visitor.as_ref());
    };
    match (joins_as, visitor) {
        ("user", Some(viewer)) => {
            // In another tab, the browser may have become somebody else's since.
            let username = form.required("username")?;
            if username == viewer.user.username.as_str() {
                join_as_user(console, &open, &token, &viewer, source).await
            } else {
                offer_to_user(console, &open, &token, &viewer, Some(username), now).await
            }
        }
        ("user", None) => {
            let page = JoinPage {
                was_signed_out: true,
                ..JoinPage::new(&open, &token, NewcomerFields::default())
            };
            Ok(keeping(console, &token, html(StatusCode::FORBIDDEN, &page)?))
        }
        ("newcomer", _) => join_as_newcomer(console, &open, &token, &form, request, source).await,
        (_, _) => Err(Refusal::BadForm("A hidden field of the form is invalid.")),
    }
}

async fn join_as_user(
    console: &Console,
    open: &Opened,
    token: &InvitationToken,
    viewer: &SignedIn,
    source: RequestSource,
) -> Result<Response, Refusal> {
    match console.joining.join_as_user(token, &viewer.user, source).await {
        Ok(member) => Ok(forgetting(console, redirect(&first_page(&member)))),
        Err(AcceptAsUserError::AlreadyMember) => already_member(StatusCode::CONFLICT, open, token, viewer),
        Err(AcceptAsUserError::NotOpen) => dead_link(Some(viewer)),
        Err(AcceptAsUserError::Storage(error)) => Err(error.into()),
    }
}

async fn join_as_newcomer(
    console: &Console,
    open: &Opened,
    token: &InvitationToken,
    form: &Fields,
    request: &Request,
    source: RequestSource,
) -> Result<Response, Refusal> {
    let password = form.required("password")?;
    let mut fields = NewcomerFields::filled_in(form)?;
    let organization = [open.organization.name.as_str(), open.organization.slug.as_str()];
    let Some(choices) = fields.choices(password, &organization) else {
        let page = JoinPage::new(open, token, fields);
        return html(StatusCode::UNPROCESSABLE_ENTITY, &page);
    };
    let joined = console.joining.join_as_newcomer(token, choices, source.clone());
    match joined.await {
        Ok(member) => {
            let attempt = SignInAttempt {
                user_agent: user_agent(request),
                username: member.user.username.as_str(),
                password: Password::attempt(password),
                previous: SessionCookie::of(&console.public_url).read(request.headers()),
                browser: BrowserCookie::of(&console.public_url).read(request.headers()),
                source,
            };
            let next = first_page(&member);
            let signed_in = sign_in_newcomer(console, attempt, &next, SignInNotice::Joined).await?;
            Ok(forgetting(console, signed_in))
        }
        Err(AcceptAsNewcomerError::UsernameTaken) => {
            fields.say_that_username_is_taken();
            html(StatusCode::CONFLICT, &JoinPage::new(open, token, fields))
        }
        Err(AcceptAsNewcomerError::Throttled(throttled)) => {
            fields.say_to_wait(throttled);
            too_many(&JoinPage::new(open, token, fields), throttled)
        }
        Err(AcceptAsNewcomerError::NotOpen) => dead_link(None),
        Err(AcceptAsNewcomerError::Hashing(error)) => Err(error.into()),
        Err(AcceptAsNewcomerError::Storage(error)) => Err(error.into()),
    }
}

/// The invitation stays in the browser while they sign in.
fn keeping(console: &Console, token: &InvitationToken, response: Response) -> Response {
    with_cookie(response, InvitationCookie::of(&console.public_url).set(token))
}

/// It is used.
fn forgetting(console: &Console, response: Response) -> Response {
    with_cookie(response, InvitationCookie::of(&console.public_url).remove())
}

fn with_cookie(mut response: Response, cookie: HeaderValue) -> Response {
    response.headers_mut().append(header::SET_COOKIE, cookie);
    response
}

fn first_page(member: &Member) -> String {
    after_joining(&member.organization.slug)
}

async fn is_member(
    console: &Console,
    viewer: &SignedIn,
    open: &Opened,
    now: DateTime<Utc>,
) -> Result<bool, Refusal> {
    let slug = &open.organization.slug;
    Ok(console
        .memberships
        .find_live(viewer.user.id, slug, now)
        .await?
        .is_some())
}

fn already_member(
    status: StatusCode,
    open: &Opened,
    token: &InvitationToken,
    viewer: &SignedIn,
) -> Result<Response, Refusal> {
    let page = AlreadyMemberPage {
        offer: Offer::new(open, token),
        username: viewer.user.username.to_string(),
        organization_page: links::api_keys(&open.organization.slug),
    };
    html(status, &page)
}

/// One answer for links that are used, taken back, expired, older than the end of the visitor's membership, damaged or made
/// up.
fn dead_link(visitor: Option<&SignedIn>) -> Result<Response, Refusal> {
    let page = LinkDead {
        username: visitor.map(|viewer| viewer.user.username.to_string()),
    };
    html(StatusCode::NOT_FOUND, &page)
}

impl Opened {
    /// The invitation for whoever would join with their account, or for somebody new.
    async fn find(
        console: &Console,
        token: &InvitationToken,
        user: Option<&SignedIn>,
        now: DateTime<Utc>,
    ) -> Result<Option<Self>, Refusal> {
        let user = user.map(|viewer| viewer.user.id);
        let Some(open) = console.joining.invitation(token, user, now).await? else {
            return Ok(None);
        };
        let OpenInvitation {
            invitation,
            organization,
        } = open;
        let inviter = match invitation.invited_by.as_subject() {
            Some(inviter) => console
                .names
                .find(organization.id, &[inviter])
                .await?
                .remove(&inviter),
            None => None,
        };
        Ok(Some(Self {
            invitation,
            organization,
            inviter,
        }))
    }
}

impl JoinPage {
    fn new(open: &Opened, token: &InvitationToken, mut fields: NewcomerFields) -> Self {
        if fields.has_errors {
            fields.focus();
        }
        let here = LocalPath::parse(links::JOIN);
        Self {
            offer: Offer::new(open, token),
            sign_in: links::sign_in(here.as_ref(), Some(SignInNotice::ToJoin)),
            fields,
            was_signed_out: false,
        }
    }
}

impl Offer {
    fn new(open: &Opened, token: &InvitationToken) -> Self {
        Self {
            inviter: open.inviter.clone(),
            token: token.expose().to_owned(),
            organization: open.organization.name.to_string(),
            invitee: open.invitation.invitee.to_string(),
            role: open.invitation.role,
            expires: Moment(open.invitation.expires_at),
        }
    }
}
