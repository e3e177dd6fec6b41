// Light or dark: the system's preference, or the last choice with the button.
function theme() {
  const root = document.documentElement;
  const saved = localStorage.getItem('theme');
  if (saved) root.classList.add(saved);
  const button = document.getElementById('theme');
  button.disabled = false; // it was drawn before this script was there
  button.addEventListener('click', () => {
    const dark = root.classList.contains('dark')
      || (!root.classList.contains('light') && matchMedia('(prefers-color-scheme: dark)').matches);
    root.classList.remove('dark', 'light');
    root.classList.add(dark ? 'light' : 'dark');
    localStorage.setItem('theme', dark ? 'light' : 'dark');
    document.dispatchEvent(new Event('theme'));
  });
}

theme();
