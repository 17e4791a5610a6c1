"""The style and the script of the report's page."""

STYLE = """
body { font: 14px/1.45 system-ui, sans-serif; margin: 2em; color: #222; background: #fff; }
h1 { font-size: 1.5em; overflow-wrap: anywhere; } h2 { font-size: 1.15em; margin: 2em 0 .5em; }
p { max-width: 60em; margin: .5em 0; overflow-wrap: anywhere; }
table { border-collapse: collapse; } td, th { padding: 3px 10px; text-align: left; border-bottom: 1px solid #e4e4e4; }
th { cursor: pointer; background: #f4f4f4; position: sticky; top: 0; white-space: nowrap; }
td.n { text-align: right; white-space: nowrap; } tr.chosen td { font-weight: 600; }
td { white-space: nowrap; }
td:first-child:not(.n), table.second td:nth-child(2) { white-space: normal; overflow-wrap: anywhere; min-width: 11em;
  max-width: 34em; }
.scroll { overflow: auto; max-height: 80vh; border: 1px solid #ddd; max-width: max-content; }
svg text { font: 11px system-ui, sans-serif; } svg.chart { max-width: 100%; height: auto; }
.track { display: inline-block; width: 90px; text-align: left; margin-left: 6px; }
.bar { display: inline-block; height: 10px; background: #e2553d; vertical-align: middle; }
table.second td:nth-child(2) { min-width: 16em; } table.second th { white-space: normal; vertical-align: bottom; }
.tiles { display: flex; flex-wrap: wrap; gap: 12px; }
.tile { border: 1px solid #ddd; border-radius: 6px; padding: 8px 14px; min-width: 9em; }
.big { font-size: 1.7em; font-weight: 600; }
.note { color: #666; } button { font: inherit; }
@media (max-width: 700px) { body { margin: .7em; } td, th { padding: 3px 6px; } .big { font-size: 1.3em; } }
"""

SCRIPT = """
for (const head of document.querySelectorAll('th')) head.onclick = () => {
  const table = head.closest('table'), at = [...head.parentNode.children].indexOf(head);
  for (const open of table.querySelectorAll('tr.histogram')) open.remove();
  const down = head.dataset.down = head.dataset.down === '1' ? '' : '1';
  const key = row => {
    const cell = row.children[at];
    return cell.dataset.v === undefined ? cell.textContent : +cell.dataset.v;
  };
  const rows = [...table.tBodies[0].rows].map(row => [key(row), row]);
  rows.sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0) * (down ? -1 : 1));
  table.tBodies[0].append(...rows.map(row => row[1]));
};
const histograms = JSON.parse(document.getElementById('histograms').textContent);
const short = value => +value.toPrecision(4) + '';
function picture(one) {
  const width = 640, height = 150, span = one.high - one.low || 1, most = Math.log1p(1e4 * Math.max(...one.bars));
  const place = value => (value - one.low) / span * width, each = width / one.bars.length;
  const bars = one.bars.map((share, at) => {
    const tall = share ? Math.max(1, height * Math.log1p(1e4 * share) / most) : 0;
    return `<rect x="${at * each}" y="${height - tall}" width="${each - 1}" height="${tall}"/>`;
  }).join('');
  const ends = one.range.map(value =>
    `<path d="M${place(value)} 0V${height}" stroke="#1560d4" stroke-width="1.5"/>`).join('');
  const text = (x, anchor, words) => `<text x="${x}" y="${height + 16}" text-anchor="${anchor}">${words}</text>`;
  return `<svg width="${width + 40}" height="${height + 30}" viewBox="-10 -6 ${width + 40} ${height + 30}">` +
    `<g fill="#e2a08f">${bars}</g>${ends}` + text(0, 'start', short(one.low)) + text(width, 'end', short(one.high)) +
    text(width / 2, 'middle', `share of values, logarithmic; integers cover ${short(one.range[0])} to ` +
      short(one.range[1])) + '</svg>';
}
for (const button of document.querySelectorAll('button[data-h]')) button.onclick = () => {
  const row = button.closest('tr'), next = row.nextElementSibling;
  if (next && next.className === 'histogram') { next.remove(); button.textContent = 'show'; return; }
  const made = document.createElement('tr');
  made.className = 'histogram';
  made.innerHTML = `<td colspan="${row.children.length}">${picture(histograms[button.dataset.h])}</td>`;
  row.after(made);
  button.textContent = 'hide';
};
if (location.hash.startsWith('#show'))
  document.querySelector(`button[data-h="${location.hash.slice(5)}"]`)?.click();
"""
