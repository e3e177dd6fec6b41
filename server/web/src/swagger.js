// Shows this server's own description. Requests are signed with the key pair of the market page, if
// this tab has one.
import { credentials, hasKeys, publicKey, syncClock } from './api.js';
import './theme.js';

const state = document.getElementById('signed');
state.textContent = hasKeys() ? `Requests are signed with your key ${publicKey().slice(0, 8)}…`
  : 'To sign requests, enter a key pair on the market page and come back in the same tab.';

async function sign(request) {
  const url = new URL(request.url, location.href);
  if (!hasKeys() || url.origin !== location.origin || !url.pathname.startsWith('/api/')) return request;
  await syncClock();
  const body = typeof request.body === 'string' ? request.body : '';
  const c = credentials(request.method.toUpperCase(), url.pathname + url.search, body);
  Object.assign(request.headers, { 'API-PublicKey': c.publicKey, 'API-Timestamp': c.timestamp, 'API-Nonce': c.nonce, 'API-Signature': c.signature });
  return request;
}

window.ui = window.SwaggerUIBundle({
  url: '/swagger/v1/swagger.json', dom_id: '#swagger-ui', deepLinking: true, tryItOutEnabled: true, validatorUrl: null, requestInterceptor: sign,
});
