// Shows this server's own description; nothing is fetched from anywhere else.
window.onload = () => {
  window.ui = SwaggerUIBundle({
    url: '/swagger/v1/swagger.json',
    dom_id: '#swagger-ui',
    deepLinking: true,
    tryItOutEnabled: true,
    validatorUrl: null,
  });
};
