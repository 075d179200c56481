//! Calls of an observer after each request.

use std::sync::{Arc, Mutex};

use crate::{client::eventually, running::Running};

type ObservedRequests = Arc<Mutex<Vec<(String, Option<u16>)>>>;

async fn observed() -> (Running, ObservedRequests) {
    let observed_requests = ObservedRequests::default();
    let recording = observed_requests.clone();
    let door = Running::with(|config| {
        config.observer = Some(Arc::new(move |exchanged| {
            let status = exchanged.response.map(|response| response.status().as_u16());
            recording
                .lock()
                .unwrap()
                .push((exchanged.uri.path().to_owned(), status));
        }));
    })
    .await;
    (door, observed_requests)
}

#[tokio::test]
async fn observer_is_called_for_answers_and_refusals() {
    let (door, observed_requests) = observed().await;
    let mut client = door.client().await;
    client.ask("/request-ids").await;
    client.answer().await;
    client.send("GET /refused HTTP/1.1\r\n\r\n").await;
    client.answer().await;
    let expected = [
        ("/request-ids".to_owned(), Some(200)),
        ("/refused".to_owned(), Some(400)),
    ];
    assert_eq!(*observed_requests.lock().unwrap(), expected);
}

#[tokio::test]
async fn observer_is_called_once_for_a_client_that_left() {
    let (door, observed_requests) = observed().await;
    let mut client = door.client().await;
    client.ask("/never").await;
    door.stage.is_asked("/never").await;
    drop(client);
    eventually(async || !observed_requests.lock().unwrap().is_empty()).await;
    assert_eq!(*observed_requests.lock().unwrap(), [("/never".to_owned(), None)]);
}
