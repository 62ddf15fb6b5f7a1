//! What an origin does with a request, and what may come of it. It follows from the seed, the request and
//! the origin, so the order in which requests arrive changes nothing.

use super::CLOCK;
use super::dice::Dice;
use super::request::Asked;
use super::weather::{SITES, Weather};
use crate::case::{Body, Close, Ending, Piece, Protocol, RequestFault, ResponseFraming, Text, Turn};

/// A turn of an origin.
pub(super) struct Deed {
    pub(super) turn: Turn,
    pub(super) fate: Fate,
}

/// What comes of a turn.
#[derive(Debug)]
pub(super) enum Fate {
    /// An answer with this body, whole.
    Answer(u16, Body),
    /// An answer that the origin breaks off so after at most these bytes.
    Cut(u16, Body, Ending),
    /// A redirect to the same origin, where the hop is answered with the request's own body.
    Redirect,
    /// A failure, for one of these reasons.
    Fails(Vec<String>),
}

#[derive(Clone, Copy)]
enum Choice {
    Echo(ResponseFraming),
    Closing(Close),
    Interim,
    Early,
    NotFound,
    Empty,
    Redirect,
    Cut(ResponseFraming, Ending),
    Status(u16),
    EarlyStatus,
    Late,
    Fault(RequestFault),
    Fields,
    Bytes,
}

impl Deed {
    pub(super) fn of(seed: u64, phase: u64, asked: &Asked, site: usize, hop: bool) -> Self {
        let weather = Weather::of(seed, phase, site);
        let http1 = SITES.get(site).is_some_and(|site| site.version == Protocol::Http1);
        let mut dice = Dice::of(&[seed, 3, asked.id, site as u64]);
        let choice = match (hop, dice.chance(weather.failing)) {
            (true, _) => Choice::Echo(ResponseFraming::ContentLength),
            (false, true) => failure(&mut dice, http1, weather.rough),
            (false, false) => answer(&mut dice, http1),
        };
        let mark = format!("{}.{site}", asked.id);
        let mut turn = Turn {
            headers: vec![("x-chaos".to_owned(), Text::from(mark.as_str()))],
            delay_ms: dice.below(4).saturating_sub(1) * 5,
            drain: true,
            ..Turn::default()
        };
        let fate = set(&mut turn, choice, asked, &mut dice);
        Self { turn, fate }
    }
}

fn answer(dice: &mut Dice, http1: bool) -> Choice {
    use Choice::{Closing, Cut, Early, Echo, Empty, Interim, NotFound, Redirect};
    use ResponseFraming::{Chunked, ContentLength};
    let both = [
        (55, Echo(ContentLength)),
        (15, Echo(Chunked)),
        (4, Interim),
        (5, Early),
        (4, NotFound),
        (3, Empty),
        (6, Redirect),
        (2, Cut(ContentLength, Ending::Reset)),
        (2, Cut(Chunked, Ending::Reset)),
        (1, Cut(ContentLength, Ending::Stall)),
        (1, Cut(Chunked, Ending::Stall)),
    ];
    let http1_alone = [
        (4, Echo(ResponseFraming::Close)),
        (4, Closing(Close::Announced)),
        (2, Closing(Close::Silent)),
        (2, Cut(ContentLength, Ending::Close)),
        (2, Cut(Chunked, Ending::Close)),
    ];
    let more: &[_] = if http1 { &http1_alone } else { &[] };
    dice.weighted(&[both.as_slice(), more].concat(), Echo(ContentLength))
}

fn failure(dice: &mut Dice, http1: bool, rough: bool) -> Choice {
    use Choice::{Bytes, EarlyStatus, Fault, Fields, Late, Status};
    use RequestFault::{
        Close, Garbage, Goaway, HalfHead, HalfHeadReset, HalfHeadSilence, RefusedStream, Reset, RstStream,
        Silence,
    };
    let both = [
        (8, Status(500)),
        (8, Status(502)),
        (8, Status(503)),
        (4, Status(504)),
        (2, Status(599)),
        (6, EarlyStatus),
        (2, Late),
        (3, Fault(Silence)),
        (2, Fields),
    ];
    let http1_alone = [
        (10, Fault(Reset)),
        (10, Fault(Close)),
        (6, Fault(HalfHead)),
        (6, Fault(HalfHeadReset)),
        (2, Fault(HalfHeadSilence)),
        (8, Fault(Garbage)),
        (2, Bytes),
    ];
    let http2 = [(12, Fault(RefusedStream)), (12, Fault(RstStream))];
    let http2_rough = [(3, Fault(Goaway)), (3, Fault(Reset)), (3, Fault(Close))];
    let more: [&[_]; 2] = match (http1, rough) {
        (true, _) => [&http1_alone, &[]],
        (false, true) => [&http2, &http2_rough],
        (false, false) => [&http2, &[]],
    };
    dice.weighted(&[both.as_slice(), &more.concat()].concat(), Status(500))
}

fn set(turn: &mut Turn, choice: Choice, asked: &Asked, dice: &mut Dice) -> Fate {
    let text = |text: &str| Body(vec![Piece::Bytes(format!("{text} {}", asked.id).into_bytes())]);
    match choice {
        Choice::Echo(framing) => {
            turn.framing = framing;
            echo(turn, asked, dice)
        }
        Choice::Closing(close) => {
            turn.close = Some(close);
            echo(turn, asked, dice)
        }
        Choice::Interim => {
            turn.interim = vec![103];
            echo(turn, asked, dice)
        }
        Choice::Early => {
            turn.read_bytes = Some(0);
            fixed(turn, 413, text("too early"))
        }
        Choice::NotFound => fixed(turn, 404, text("not found")),
        Choice::Empty => fixed(turn, 204, Body::default()),
        Choice::Redirect => {
            let location = format!("{}&hop=1", asked.request.target);
            turn.headers.push(("location".to_owned(), Text::from(location.as_str())));
            turn.status = Some(307);
            Fate::Redirect
        }
        Choice::Cut(framing, ending) => cut(turn, framing, ending, dice),
        Choice::Status(status) => {
            fixed(turn, status, text("failed"));
            Fate::Fails(vec![format!("HTTP {status}")])
        }
        Choice::EarlyStatus => {
            turn.read_bytes = Some(0);
            fixed(turn, 503, text("busy"));
            Fate::Fails(vec!["HTTP 503".to_owned()])
        }
        Choice::Late => {
            turn.delay_ms = 3 * CLOCK;
            fixed(turn, 200, text("late"));
            Fate::Fails(vec!["timeout".to_owned()])
        }
        Choice::Fault(fault) => {
            turn.fault = Some(fault);
            Fate::Fails(words(fault).iter().map(|&word| word.to_owned()).collect())
        }
        Choice::Fields | Choice::Bytes => {
            let fields = matches!(choice, Choice::Fields);
            (turn.fill_fields, turn.fill_bytes) = if fields { (2001, 0) } else { (0, 140_000) };
            fixed(turn, 200, text("too much"));
            Fate::Fails(["limit", "protocol", "reset"].map(str::to_owned).into())
        }
    }
}

/// Envoy says `protocol` where a head is cut.
fn words(fault: RequestFault) -> &'static [&'static str] {
    match fault {
        RequestFault::Silence | RequestFault::HalfHeadSilence => &["timeout"],
        RequestFault::HalfHead | RequestFault::HalfHeadReset => &["reset", "protocol"],
        RequestFault::Garbage => &["protocol"],
        _ => &["reset"],
    }
}

/// The request's own body; where it has none, bytes that no other answer has.
fn echo(turn: &mut Turn, asked: &Asked, dice: &mut Dice) -> Fate {
    if let Some(body) = &asked.request.body {
        turn.status = Some(200);
        turn.echo = true;
        return Fate::Answer(200, body.clone());
    }
    let most = if dice.chance(10) { 100_000 } else { 2000 };
    let size = dice.below(most);
    fixed(turn, 200, Body(vec![Piece::Bytes(dice.bytes(size))]))
}

fn fixed(turn: &mut Turn, status: u16, body: Body) -> Fate {
    turn.status = Some(status);
    turn.body = Some(body.clone());
    Fate::Answer(status, body)
}

fn cut(turn: &mut Turn, framing: ResponseFraming, ending: Ending, dice: &mut Dice) -> Fate {
    let size = 1 + dice.below(20_000);
    let sent = dice.bytes(size);
    turn.status = Some(200);
    turn.framing = framing;
    turn.length = Some(size + 1 + dice.below(1000));
    turn.body = Some(Body(vec![Piece::Bytes(sent.clone()), Piece::End(ending)]));
    Fate::Cut(200, Body(vec![Piece::Bytes(sent)]), ending)
}
