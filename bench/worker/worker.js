// The balancer's policy as a Worker: upgrade to https, a closed list of routes, bounded failover, a
// health view. Written as its authors would write it for Cloudflare, not tuned for the bench.

const ROUTES = new Map([
  ["/", ["GET"]],
  ["/assets/config.js", ["GET"]],
  ["/assets/styles.css", ["GET"]],
  ["/api/status", ["GET"]],
  ["/api/config", ["GET", "PUT"]],
  ["/api/business-config", ["GET", "PUT"]],
  ["/api/business-config/preflight", ["POST"]],
  ["/api/admin/session", ["POST"]],
  ["/api/admin/session/revoke", ["POST"]],
  ["/api/enabled", ["GET", "PUT"]],
  ["/webhook/tg", ["POST"]],
  ["/push/jmap", ["POST"]],
  ["/api/push/register", ["POST"]],
  ["/api/telegram/register-webhook", ["POST"]],
  ["/api/push/disable", ["POST"]],
  ["/reconcile", ["POST"]],
  ["/worker", ["POST"]],
  ["/healthz", ["GET"]],
  ["/ready", ["GET"]],
]);

const LONG_JOBS = new Map([
  ["/reconcile", 320_000],
  ["/worker", 300_000],
]);

const REQUEST_TIMEOUT_MS = 10_000;
const MAX_ATTEMPTS = 2;
const HEALTH_TTL_MS = 30_000;

const verdicts = new Map();

export default {
  async fetch(request, env) {
    const url = new URL(request.url);
    if (!arrivedOverHttps(request, url, env)) {
      return new Response(null, {
        status: 308,
        headers: { location: `https://${url.host}${url.pathname}${url.search}`, "cache-control": "no-store" },
      });
    }
    if (url.pathname === "/healthz-worker") {
      return request.method === "GET" ? healthView(env) : text(405, `method not allowed for ${url.pathname}`);
    }
    const methods = ROUTES.get(url.pathname);
    if (!methods) {
      return text(404, `route not forwarded: ${url.pathname}`);
    }
    if (!methods.includes(request.method)) {
      return text(405, `method not allowed for ${url.pathname}`, { allow: methods.join(", ") });
    }
    const origins = parseOrigins(env);
    if (!origins) {
      return text(503, "misconfigured backends");
    }
    return forward(request, url, origins);
  },
};

function arrivedOverHttps(request, url, env) {
  const forwarded = env.LB_TRUST_FORWARDED_PROTO === "1" && request.headers.get("x-forwarded-proto");
  const scheme = forwarded ? forwarded.split(",")[0].trim().toLowerCase() : url.protocol.slice(0, -1);
  return scheme === "https";
}

async function forward(request, url, origins) {
  const longJob = LONG_JOBS.get(url.pathname);
  const timeout = longJob ?? REQUEST_TIMEOUT_MS;
  const attempts = Math.max(1, Math.min(longJob ? 1 : MAX_ATTEMPTS, origins.length));
  const start = attempts > 1 ? Math.floor(Math.random() * origins.length) : 0;
  // A body can be read once only, so it is kept for the next attempt.
  const body = request.method === "GET" ? undefined : await request.arrayBuffer();
  const headers = new Headers(request.headers);
  headers.delete("host");

  let failure = "";
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    const origin = origins[(start + attempt) % origins.length];
    try {
      const response = await fetch(`${origin}${url.pathname}${url.search}`, {
        method: request.method,
        headers,
        body,
        redirect: "follow",
        signal: AbortSignal.timeout(timeout),
      });
      if (response.status < 500) {
        const answer = new Response(response.body, response);
        answer.headers.set("x-lb-backend", origin);
        return answer;
      }
      await response.body?.cancel();
      failure = `backend ${origin} returned HTTP ${response.status}`;
    } catch {
      failure = `backend ${origin} unavailable`;
    }
    console.warn(`attempt failed: ${request.method} ${url.pathname} ${failure}`);
  }
  return text(503, `all backends failed: ${failure}`);
}

async function healthView(env) {
  const origins = parseOrigins(env) ?? [];
  const backends = await Promise.all(origins.map(probe));
  const available = backends.filter((backend) => backend.up).length;
  const status = available > 0 ? "ok" : "down";
  return new Response(
    JSON.stringify({ status, version: env.LB_VERSION || "unknown", available, total: backends.length, backends }),
    {
      status: available > 0 ? 200 : 503,
      headers: { "content-type": "application/json", "cache-control": "no-store" },
    },
  );
}

async function probe(origin) {
  const known = verdicts.get(origin);
  if (known && Date.now() - known.at < HEALTH_TTL_MS) {
    return known.verdict;
  }
  let verdict = { origin, up: false, status: null };
  try {
    const response = await fetch(`${origin}/healthz`, { signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS) });
    await response.body?.cancel();
    verdict = { origin, up: response.status < 500, status: response.status };
  } catch {
    // Down is what the verdict says already.
  }
  verdicts.set(origin, { at: Date.now(), verdict });
  return verdict;
}

let parsed;

function parseOrigins(env) {
  if (parsed === undefined) {
    try {
      const origins = JSON.parse(env.BACKEND_ORIGINS_JSON);
      const good = origins.length > 0 && origins.every((origin) => new URL(origin).protocol === "https:");
      parsed = good ? [...new Set(origins.map((origin) => new URL(origin).origin))] : null;
    } catch {
      parsed = null;
    }
  }
  return parsed;
}

function text(status, body, headers = {}) {
  return new Response(body, {
    status,
    headers: { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store", ...headers },
  });
}
