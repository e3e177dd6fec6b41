// Files of tickhive demo-key: their text is pasted whole, or the file is dropped, in place of typing a key pair.

// pairOf returns the key pair in a text, null when it has none.
function pairOf(text) {
  try {
    const { publicKey, privateKey } = JSON.parse(text);
    return typeof publicKey === 'string' && typeof privateKey === 'string' ? [publicKey, privateKey] : null;
  } catch { return null; }
}

const largest = 64 << 10; // bytes of a file that is read

// takesKeyFile lets a form take such a text or file: use is called with the pair. say is called with why a file has none.
export function takesKeyFile(form, use, say) {
  form.addEventListener('paste', (e) => {
    const pair = pairOf(e.clipboardData.getData('text'));
    if (!pair) return; // a key alone goes into its field
    e.preventDefault();
    use(...pair);
  });
  const drags = (e) => e.dataTransfer?.types.includes('Files');
  form.addEventListener('dragover', (e) => { if (drags(e)) e.preventDefault(); });
  form.addEventListener('drop', async (e) => {
    const [file] = e.dataTransfer?.files ?? [];
    if (!file) return;
    e.preventDefault();
    const pair = file.size <= largest ? pairOf(await file.text()) : null;
    if (pair) use(...pair); else say(`${file.name} is no file of tickhive demo-key: it has no publicKey and privateKey.`);
  });
}
