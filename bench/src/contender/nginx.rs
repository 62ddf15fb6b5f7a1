//! nginx with the same routes, upgrade and failover, kept-alive TLS to the origins, as its
//! documentation has it. It has no health view, follows no redirects and buffers whole uploads.

use std::fmt::Write;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::Command;

use messageweave_lb::policy::safelist::SAFELIST;

use super::{Site, tool};
use crate::Fallible;

pub(super) fn binary() -> PathBuf {
    tool("NGINX", "nginx")
}

pub(super) fn command(site: &Site<'_>) -> Fallible<Command> {
    let file = site.write("nginx.conf", &configuration(site))?;
    let mut command = Command::new(binary());
    command.env_clear().arg("-p").arg(site.folder).arg("-c").arg(file).args(["-e", "stderr"]);
    Ok(command)
}

/// nginx would else give its workers to a user who may not read the folder.
fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

fn configuration(site: &Site<'_>) -> String {
    let folder = site.folder.display();
    let user = if is_root() { "user root;" } else { "" };
    let temporary =
        ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(|what| format!("{what}_temp_path temp;"));
    let servers = site.origins.addresses.map(|address| format!("server {address} max_fails=0;"));
    let routes = SAFELIST.iter().fold(String::new(), |mut text, route| {
        let methods: Vec<_> = route.methods.iter().map(|method| method.as_str()).collect();
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "location = {} {{ if ($request_method !~ ^({})$) {{ return 405; }} proxy_pass https://origins; }}",
            route.matcher.text(),
            methods.join("|")
        );
        text
    });
    format!(
        "daemon off; {user} worker_processes auto; pid {folder}/pid; error_log stderr error;
events {{ worker_connections 4096; }}
http {{
  access_log off; {}
  keepalive_requests 100000000;
  upstream origins {{ {} keepalive 64; keepalive_requests 100000000; keepalive_timeout 4s; }}
  proxy_http_version 1.1; proxy_set_header connection \"\"; proxy_set_header host localhost;
  proxy_ssl_verify on; proxy_ssl_trusted_certificate {}; proxy_ssl_name localhost; proxy_ssl_server_name on;
  proxy_next_upstream error timeout http_500 http_502 http_503 http_504 non_idempotent;
  proxy_next_upstream_tries 2; proxy_read_timeout 10s; proxy_buffers 16 16k;
  client_body_buffer_size 1m; client_max_body_size 0;
  server {{
    listen {}; default_type text/plain; add_header x-lb-backend $upstream_addr;
    if ($http_x_forwarded_proto != https) {{ return 308 https://$host$request_uri; }}
{routes}
    location / {{ return 404 \"route not forwarded: $uri\"; }}
  }}
}}
",
        temporary.join(" "),
        servers.join(" "),
        site.origins.ca.display(),
        site.address,
    )
}
