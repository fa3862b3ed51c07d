/* The host's part of template_and_lambda_request.cc. */
void twice(int &x) { x *= 2; }
void twice(double &x) { x *= 2; }
void twice(long long &x) { x *= 2; }
